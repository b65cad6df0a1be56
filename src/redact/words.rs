//! The word lists of the general rules, and a set to ask them.
//!
//! Data alone: what the words mean is said where they are used.

use std::collections::HashSet;
use std::sync::OnceLock;

/// A set of words, written as one string and taken apart when it is first asked.
pub(super) struct Words {
    text: &'static str,
    set: OnceLock<HashSet<&'static str>>,
}

impl Words {
    const fn new(text: &'static str) -> Self {
        Self {
            text,
            set: OnceLock::new(),
        }
    }

    /// Whether a lower-case word is in the list.
    pub(super) fn has(&self, word: &str) -> bool {
        self.set
            .get_or_init(|| self.iter().collect())
            .contains(word)
    }

    /// The words in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = &'static str> {
        self.text.split_ascii_whitespace()
    }
}

/// Words that give a stand-in away wherever they stand in a value.
pub(super) static INSIDE: Words = Words::new(
    "example changeme change_me change-me changethis change_this change-this placeholder your_ your- \
     your. yourtoken yourkey yoursecret yourpassword yourapi yourpass dummy fakekey fakesecret faketoken \
     replaceme replace_ replace- insert_ insert- redacted notreal not-real not_real notasecret \
     not-a-secret not_a_secret not-a-real not_a_real goes_here goes-here goeshere secret_here token_here \
     key_here key-here token-here foobar lorem sanitized anonymized xxxx **** .... •• …… ____ ----- \
     000000000 ${ {{ <% #{ %( $( process.env os.environ getenv env[ import.meta secrets. %s {} {0}",
);

/// Short words that count only when they stand alone between other characters.
pub(super) static APART: Words = Words::new(
    "fake todo here your sample demo mock stub fixme bogus none null tbd some insert replace enter hidden \
     masked removed omitted invalid undefined",
);

/// Values that are words of a language or of documentation.
pub(super) static WHOLE: Words = Words::new(
    "null none nil true false undefined string str text int integer number bool boolean any object array \
     bytes void password passwd passphrase pass pwd secret secrets token tokens key keys apikey api_key \
     api-key value values required optional n/a na tbd unset empty yes no on off enabled disabled auto \
     default prompt ask interactive stdin stdout env environ file vault inherit unknown invalid valid \
     wrong incorrect correct missing expired username user login hidden new old self this await async \
     function return const let var char type private public static final new_password credential \
     credentials basic bearer oauth oauth2 jwt hmac plain login-password current-password new-password \
     one-time-code mypassword mysecret mytoken mykey my_password my_secret my_token my_key my-secret \
     my-token my-key my-password secretkey secret_key access_token refresh_token id_token client_secret \
     private_key public_key passcode confirm submit input label field placeholder test testing sometoken \
     somesecret somekey somepassword option result error some never always never_expires",
);

/// Beginnings of a reference to where the secret is kept.
pub(super) static REFERENCES: Words = Words::new(
    "env. env: env( environ system.getenv vault: vault/ op:// ssm: arn: projects/ keychain: file: config. \
     config[ cfg. self. this. var. local. data. module. params. params[ props. options. opts. args. \
     request. req. settings. context. ctx. input. inputs. state. form. user. options[ app.config keyvault \
     resolve: awskms: gcpkms: !vault !ref !sub !getatt fn:: ref+ ref: secretsmanager credentials( lookup(",
);

/// Last words that say the value is about a secret, not one.
pub(super) static ABOUT: Words = Words::new(
    "id ids name names path paths file files filename dir folder url urls uri uris endpoint endpoints \
     host port type types kind len length size sizes count counts num max min limit limits expiry expires \
     expiration expire exp ttl timeout duration age at time date created updated version ver field fields \
     column columns label prefix suffix pattern regex format policy provider providers store manager ring \
     chain board word words event press map alias status state enabled disabled required valid invalid \
     mode algorithm alg hash hashes digest checksum fingerprint thumbprint sha sha1 sha256 sha512 md5 \
     index idx usage cost price budget class icon title description desc hint message msg error errors \
     rule rules selector ref refs reference group groups role scope scopes user username email mail \
     issuer subject audience arn region bucket table space order rotation generator factory handler \
     service request response doc docs comment commit revision rev tag branch etag uuid guid cursor \
     offset page line position color colour style attribute attr encoding source target resource exists \
     error_code strength length_min rate score total used remaining input output nonce challenge stream \
     vocab kind_name domain package module",
);

/// Words before `key` that make it a secret.
pub(super) static SECRET_KEYS: Words = Words::new(
    "api apis access secret private priv auth oauth client consumer customer encryption encrypt \
     decryption signing sign signature master account storage shared deploy deployment service license \
     licence subscription integration server app application write read admin user session webhook crypto \
     crypt cipher aes hmac jwt ssh rsa ec pgp gpg ssl tls merchant live prod production sandbox test dev \
     developer rest http https bot agent ingest ingestion insights query management personal security \
     root super device wallet token gateway platform partner connection host data feed functions \
     function web model org organization environment env sdk push sending upload recovery unseal fernet \
     django flask rails laravel publish sas",
);

/// Words before `key` that make it something to look up by.
pub(super) static PLAIN_KEYS: Words = Words::new(
    "public pub publishable primary foreign sort partition cache object row range group unique \
     translation i18n locale lookup registry issue project idempotency map dict json yaml config index \
     hot short arrow any modifier ctrl enter react list item entry node tree sharding shard routing \
     composite natural surrogate candidate hash dedup dedupe metric meta property label column field \
     i18next s3 bucket storagepath message redis dictionary tab shift event",
);

/// Words of English that end in `key` and have nothing to do with keys.
pub(super) static NO_KEYS: Words = Words::new(
    "monkey turkey whiskey donkey jockey hockey hotkey lackey malarkey hickey pinkey bikey keykey smokey \
     mickey dickey cockey",
);

/// Words that may stand after the one that counts.
pub(super) static TRAILING: Words = Words::new(
    "value val string str text env var prod production dev test testing live staging stage default new \
     old current main b64 base64 encoded raw plain plaintext header param parameter data v1 v2 v3 v4 \
     encrypted primary secondary backup local sandbox get content base literal arg option const here",
);

/// What `pass` is of in one word: `dbpass`.
pub(super) static PASS_OWNERS: Words = Words::new(
    "db user usr root admin my mail email smtp ftp sftp ssh sql mysql pg postgres redis mongo login auth key store \
     keystore truststore cert wifi web app api proxy http ldap vpn jdbc repo mq bind enc svn git nexus docker bot rpc \
     master server client guest backup sudo become account archive zip pdf token",
);

/// Names that take a number: variables and types.
pub(super) static TYPES: Words = Words::new(
    "password passwd pass pwd secret token user arg param value p x s v str string u i f int uint long varchar char \
     nvarchar utf sha md base be le field column line step test case test_case version latin iso",
);

/// Beginnings of data, hashes, public keys and ids that look random and are no secret.
pub(super) static HARMLESS: Words = Words::new(
    "sha1- sha256- sha384- sha512- iVBORw0KGgo R0lGOD /9j/ AAAAB3NzaC1 AAAAC3NzaC1 AAAAE2VjZHNh AAAAGnNr \
     PHN2Zy UklGR H4sI UEsDB JVBERi d09G AGFzbQ AAEAAAA MII _ZN _R toolu_ msg_ call_ req_ resp_ rs_ fc_ \
     chatcmpl- gen- run_ thread_ asst_ file- cus_ pi_ evt_ price_ prod_ srvtoolu_ agent_ session_ \
     cs_test_a acct_ batch_ item_ ig_ ws_ conv_ step_ user_ org- org_ proj_ ft- ftjob- pm_ sub_ seti_ \
     src_ txn_ in_1 dpl_ prj_ team_ ctr_ vol- subnet- arn Qm bafy sha256 0x cmpl- tool_",
);

/// Prefixes that are words, or of many formats: what stands after them may be anything.
pub(super) static WORD_PREFIXES: Words = Words::new(
    "secret_ secret- console- token- kubeconfig- live_ test_ sandbox_ prod: preview: dev: api- sdk- mob- \
     key- pubkey- TEST- API- sess- oauth: base64: unkey_ shippo_ secret-live- secret-test- pk_test_ \
     pk_prod_ sk_test_ sk_live_ rk_test_ rk_live_ sk_prod_ bedrock-api-key- access_token$ \
     django-insecure- scrypt: pbkdf2:",
);
