//! Lines of everyday work that must come out as they went in, and look-alikes that should.

use super::{Dice, Redactor};

const HEX: &str = "0123456789abcdef";
const BASE64: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const BASE36: &str = "abcdefghijklmnopqrstuvwxyz0123456789";

/// `h40` is forty hex digits, `b86` base64, `z32` base 36, `uuid` a uuid.
const MADE: &[&str] = &[
    "checksum = \"{h64}\"",
    "source = \"git+https://github.com/rust-lang/regex?rev={h40}#{h40}\"",
    "\"checksum serde 1.0.4 (registry+https://github.com/rust-lang/crates.io-index)\" = \"{h64}\"",
    "      \"integrity\": \"sha512-{b86}==\",",
    "      \"resolved\": \"https://registry.npmjs.org/left-pad/-/left-pad-1.3.0.tgz#{h40}\",",
    "  resolved \"https://registry.yarnpkg.com/lodash/-/lodash-4.17.21.tgz#{h40}\"",
    "  integrity sha512-{b86}==",
    "  checksum: 10c0/{h128}",
    "github.com/stretchr/testify v1.8.4 h1:{b43}=",
    "github.com/stretchr/testify v1.8.4/go.mod h1:{b43}=",
    "golang.org/x/sys v0.0.0-20220715151400-{h12}",
    "    resolution: {integrity: sha512-{b86}==}",
    "    {file = \"requests-2.31.0-py3-none-any.whl\", hash = \"sha256:{h64}\"},",
    "    --hash=sha256:{h64} \\",
    "            \"reference\": \"{h40}\",",
    "            \"shasum\": \"{h40}\",",
    "  \"narHash\": \"sha256-{b43}=\",",
    "  sha256: \"{h64}\"",
    "  sha256 = \"{z52}\";",
    "commit {h40}",
    "{h40} refs/heads/main",
    "{h7} fix the parser of tokens (#1234)",
    "Merge: {h7} {h7}",
    "index {h7}..{h7} 100644",
    "* {h7} (HEAD -> main, origin/main) redact: keep names",
    "Subproject commit {h40}",
    "160000 commit {h40}\tvendor/lib",
    "tree {h40}",
    "From {h40} Mon Sep 17 00:00:00 2001",
    "[main {h7}] session: keep tokens apart",
    "git show {h40}:src/main.rs",
    "uses: actions/checkout@{h40} # v4",
    "rev = \"{h40}\"",
    "\"revision\" : \"{h40}\",",
    "https://github.com/acme/tool/commit/{h40}",
    "FROM node:20@sha256:{h64}",
    "docker.io/library/redis@sha256:{h64}",
    "Digest: sha256:{h64}",
    "Status: Downloaded newer image for ghcr.io/acme/app@sha256:{h64}",
    "ghcr.io/acme/app:sha-{h40}",
    "{h64}  target/release/app.tar.gz",
    "md5: {h32}",
    "ETag: \"{h32}\"",
    "id: {uuid}",
    "\"uuid\": \"{uuid}\",",
    "request_id={uuid} took 12ms",
    "X-Request-Id: {uuid}",
    "session_id: {uuid}",
    "<Project Guid=\"{uuid}\">",
    "\"parentUuid\":\"{uuid}\",\"sessionId\":\"{uuid}\"",
    "/dev/disk/by-uuid/{uuid}",
    "traceparent: 00-{h32}-{h16}-01",
    "/nix/store/{z32}-rustc-1.80.0/bin/rustc",
    "target/debug/deps/timewarp-{h16}.d",
    "node_modules/.pnpm/react@18.2.0_{z26}/node_modules/react",
    "/home/user/.cache/pip/http/{h2}/{h2}/{h56}",
    "~/.cargo/registry/src/index.crates.io-{h16}/regex-1.10.0/src/lib.rs",
    "dist/assets/index-{h8}.js   142.31 kB",
    "<link href=\"/static/css/main.{h8}.css\" rel=\"stylesheet\">",
    "<script src=\"https://cdn.test/x.js\" integrity=\"sha384-{b64}\" crossorigin=\"anonymous\"></script>",
    "background: url(data:image/png;base64,{b120});",
    "src=\"data:image/svg+xml;base64,{b90}\"",
    "ssh-rsa AAAAB3NzaC1yc2E{b100} user@host",
    "github.com ssh-ed25519 AAAAC3NzaC1lZDI1NTE5{b43}",
    "SHA256:{b43} user@host (ED25519)",
    "0x{h64}",
    "const EMPTY_TREE: &str = \"{h40}\";",
    "assert_eq!(hash(b\"\"), \"{h64}\");",
    "     Running unittests src/lib.rs (target/debug/deps/app-{h16})",
    "pod/web-{h10}-x7k2p   1/1   Running   0   5m",
    "cache key: linux-cargo-{h64}",
    "cache-key = {h40}",
    "\"tool_use_id\":\"toolu_01{z22}\"",
    "\"call_id\":\"call_{z24}\"",
    "snapshot s_20260228_153012_{z6} taken",
    "BuildID[sha1]={h40}, stripped",
    "{h8}-{h8}-{h8}-{h8}",
    "color: #{h6}; border-color: #{h3};",
    "inet6 fe80::{h4}:{h4}:{h4}:{h4}/64",
    "link/ether 02:42:{h2}:{h2}:{h2}:{h2}",
    "at 0x00007f{h10} in main () from /lib/x86_64-linux-gnu/libc.so.6",
    "{b76}",
];

/// Written by hand: code, prose and output that speak of secrets and hold none.
const WRITTEN: &str = r#"let token = self.lexer.next_token()?;
pub fn parse_token(input: &str) -> Option<Token> {
password: string;
password: String,
password: Option<String>,
def login(self, username: str, password: str) -> bool:
const password = await prompt("Password: ");
password = getpass.getpass("Password: ")
token = os.environ["GITHUB_TOKEN"]
token := os.Getenv("GITHUB_TOKEN")
const token = process.env.GITHUB_TOKEN;
let key = map.entry(key).or_insert_with(Vec::new);
for (key, value) in &headers {
api_key = settings.OPENAI_API_KEY
auth = HTTPBasicAuth(user, password)
secret = config.get("client_secret")
export GITHUB_TOKEN=$(gh auth token)
export AWS_SECRET_ACCESS_KEY="${AWS_SECRET_ACCESS_KEY}"
GITHUB_TOKEN: ${{ secrets.GITHUB_TOKEN }}
password: {{ vault_db_password }}
password: !vault |
secretKeyRef: {name: db-secret, key: password}
  - secretRef: {name: app-secrets}
token: <your-token>
API_KEY=your-api-key-here
PASSWORD=changeme
apiKey: "xxxxxxxxxxxxxxxxxxxxxxxx"
Authorization: Bearer <token>
Authorization: Bearer $TOKEN
-H "Authorization: Bearer ${GITHUB_TOKEN}"
Cookie: theme=dark; lang=en
Set-Cookie: theme=light; Path=/; HttpOnly
<input type="password" name="password" id="password" autocomplete="current-password">
<label for="password">Password</label>
"password": {"type": "string", "minLength": 8},
error: invalid token at line 12, column 5
error: the token expired yesterday
fatal: Authentication failed for 'https://github.com/acme/tool.git/'
Enter passphrase for key '/home/user/.ssh/id_ed25519':
The password must have at least 8 characters, one digit and one symbol.
Forgot your password? Press the key marked 'any'.
max_tokens = 4096
"total_tokens": 18234, "input_tokens": 17001, "cache_read_input_tokens": 15872
tokens_per_second: 123.45
tokenizer = AutoTokenizer.from_pretrained("bert-base-uncased")
{"usage":{"input_tokens":1024,"output_tokens":256}}
primary_key = "id"
PRIMARY KEY (user_id, created_at)
foreign_key: :author_id
sort_key = "created_at"
partition_key = "tenant_id"
translation_key: "user.profile.title"
i18n.t("auth.password.reset.success")
public_key = "MCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE="
keyboard.press(Key.enter)
case KeyCode::Enter => self.submit(),
keyword: "Tageslohn_P2"
author = "Jane Doe <jane@doe.test>"
authors = ["Jane Doe <jane@doe.test>"]
version = "1.2.3-beta.4+build.567"
rust-version = "1.90"
"typescript": "^5.4.5",
serde = { version = "1", features = ["derive"] }
https://docs.rs/regex/1.10.4/regex/struct.Regex.html#method.find_iter
https://user:password@example.com/path
postgres://user:pass@localhost/db
https://localhost:8080/path@2x.png
git@github.com:acme/tool.git
ssh://git@github.com/acme/tool.git
npm ERR! code E401
SELECT token, secret FROM credentials WHERE id = $1;
INSERT INTO users (name, password_hash) VALUES ($1, $2)
chmod 0600 ~/.ssh/id_rsa
-----BEGIN CERTIFICATE-----
-----END CERTIFICATE-----
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
!function(e,t){"object"==typeof exports&&"undefined"!=typeof module?module.exports=t():e.x=t()}(this,function(){
var n=function(e){return e&&e.__esModule?e.default:e},r=n(i(7294)),o=n(i(5893));
a.prototype.getToken=function(t){return this.tokens[t]||(this.tokens[t]=new u(t))};
const s=new Uint8Array([0x89,0x50,0x4e,0x47,0x0d,0x0a,0x1a,0x0a]);
;AAAA,SAASA,EAAEC,GAAG,OAAOA,EAAEC,KAAK;AACA,IAAIC,EAAEC
_ZN4core3fmt9Formatter9write_str17h0a1b2c3d4e5f6789E
Ljava/lang/StringBuilder;->append(Ljava/lang/String;)Ljava/lang/StringBuilder;
com.acme.security.oauth2.provider.token.store.JdbcTokenStore
org.springframework.security.crypto.password.PasswordEncoder
aGVsbG8gd29ybGQ=
echo "aGVsbG8gd29ybGQgdGhpcyBpcyB0ZXh0" | base64 -d
{"alg":"HS256","typ":"JWT"}
.btn-primary{color:#fff;background-color:#0d6efd;border-color:#0d6efd}
@media (min-width:768px){.col-md-6{flex:0 0 auto;width:50%}}
2026-02-28T15:30:12.123456Z  INFO tw::ops: snapshot taken files=8123 bytes=91234567
[2026-02-28 15:30:12] GET /api/v1/tokens?page=2&limit=50 200 12ms
127.0.0.1 - - [28/Feb/2026:15:30:12 +0000] "GET /login HTTP/1.1" 200 512
drwxr-xr-x  6 root root  4096 Feb 28 22:56 .
-rw-------  1 user user   411 Feb 28 22:56 id_ed25519
test redact::field_names::tests::passwords ... ok
test result: ok. 48 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 2.67s
warning: unused variable: `secret_token`
   Compiling secrecy v0.8.0
use secrecy::{ExposeSecret, SecretString};
pub const TOKEN_EXPIRY_SECONDS: u64 = 3600;
#define KEY_BACKSPACE 0x10e
IPV6_PKTINFO = 50
secret_name = "prod/db/credentials"
credentialsId: 'deploy-credentials'
key_path = "/etc/ssl/private/server.key"
token_file = "/var/run/secrets/kubernetes.io/serviceaccount/token"
passwordField.setText("");
assert!(token.is_none(), "token should be absent");
expect(screen.getByLabelText("Password")).toBeInTheDocument();
mock_token = "test-token"
csrf_token = request.META.get("CSRF_COOKIE")
S3_KEY=uploads/2026/01/image.png
keys = ["alpha", "beta", "gamma"]
session = requests.Session()
access: public
license = "MIT OR Apache-2.0"
signature: fn(&str) -> Result<Token>
oauth2:
  authorization_url: https://auth.acme.test/oauth2/authorize
  token_url: https://auth.acme.test/oauth2/token
  scopes: [read, write]
"#;

/// One line from its pattern.
fn made(pattern: &str, dice: &mut Dice) -> String {
    let mut out = String::new();
    let mut rest = pattern;
    while let Some((before, after)) = rest.split_once('{') {
        out.push_str(before);
        let filled = after
            .split_once('}')
            .and_then(|(word, tail)| Some((filler(word, dice)?, tail)));
        if let Some((text, tail)) = filled {
            out.push_str(&text);
            rest = tail;
        } else {
            out.push('{');
            rest = after;
        }
    }
    out.push_str(rest);
    out
}

fn filler(word: &str, dice: &mut Dice) -> Option<String> {
    if word == "uuid" {
        let parts = [8, 4, 4, 4, 12].map(|length| dice.string(HEX, length));
        return Some(parts.join("-"));
    }
    let (kind, length) = word.split_at_checked(1)?;
    let alphabet = match kind {
        "h" => HEX,
        "b" => BASE64,
        "z" => BASE36,
        _ => return None,
    };
    Some(dice.string(alphabet, length.parse().ok()?))
}

#[test]
fn innocent_lines_stay() {
    let redactor = Redactor::new();
    let mut dice = Dice(42);
    let mut lines: Vec<String> = WRITTEN.lines().map(str::to_owned).collect();
    for _ in 0..12 {
        lines.extend(MADE.iter().map(|pattern| made(pattern, &mut dice)));
    }
    assert!(lines.len() > 1000);
    let changed: Vec<(&String, String)> = lines
        .iter()
        .map(|line| (line, redactor.text(line).text))
        .filter(|(line, text)| *line != text)
        .collect();
    assert_eq!(changed, Vec::new());
    let whole = lines.join("\n");
    let redacted = redactor.text(&whole);
    let pairs: Vec<(&str, &str)> = whole
        .lines()
        .zip(redacted.text.lines())
        .filter(|(line, text)| line != text)
        .collect();
    assert_eq!(pairs, Vec::new(), "beside each other");
}

/// What looks like a secret and is none: at least 85 of 100 stay.
const LOOK_ALIKES: &str = r#"token = "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
AWS_ACCESS_KEY_ID=AKIAIOSFODNN7EXAMPLE
AKIAXXXXXXXXXXXXXXXX
github_token = "ghp_16C7e42F292c6912"
ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
glpat-XXXXXXXXXXX-XXXXXXXX
xoxb-xxx-xxx
slack: xoxb-your-token-here
sk-ant-api03-xxxxxxxx
hf_XXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXX
acme token = 'xI3WMNfLbkpKy0aRpBvCr8jXhkj4Kcfc3IR?ItDD'
apiflash = '?5d1f2c0a8b7e6c9d3f4a'
report_access_id: e8e4df51-2054-49b0-ab1c-516ac95c691d
yesOptionId = "0736f5ef-7e88-499a-80cc-90c85d2a5180"
this.ultraPictureBox1.Name = "ultraPictureBox1";
API_VERSION=rc0.13.0_20230412_0712-SNAPSHOT
apiUrl=apigee.corp.test
X-AuthSource: sm02915.int.corp.test
X509_pubkey_st = struct_X509_pubkey_st
LLM_SECRET_NAME = "NEXUS-GPT4-API-KEY"
secret_name = "prod/db/password1"
key_hash = "5d41402abc4b2a76b9719d911017c592"
token = jwt.encode(payload, SECRET_KEY1, algorithm="HS256")
mongodb+srv://<username>:<password>@cluster0.mongodb.test
sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
aws_secret_access_key = ****************************************
aws_secret_access_key = <YOUR_SECRET_KEY>
api_token: 1234567890
password_reset_token_expires_in = 3600
partition_key = "8f14e45fceea167a5a36dedd4bea2543"
github_sha = "8e5e7e5ab8b370d6c329ec480221332ada57f0ab"
image: docker/getting-started:8e5e7e5ab8b370d6c329ec480221332ada57f0ab
secret = "aaaaaaaaaaaaaaaaaaaa"
secret: op://vault/item/field
token = "dummy-token-1234"
password = "${env:DB_PASSWORD}"
"#;

#[test]
fn look_alikes_stay() {
    let redactor = Redactor::new();
    let lines: Vec<&str> = LOOK_ALIKES.lines().collect();
    let touched: Vec<String> = lines
        .iter()
        .filter(|line| redactor.text(line).text != **line)
        .map(|line| redactor.text(line).text)
        .collect();
    assert!(touched.len() * 100 <= lines.len() * 5, "{touched:#?}");
}

/// Placeholders that issuers print, ids, hashes, public keys, generated code: one look-alike a line. A `·` is taken out.
const MANY: &str = include_str!("look_alikes.txt");

#[test]
fn at_least_nine_of_ten_look_alikes_stay() {
    let redactor = Redactor::new();
    let lines: Vec<String> = MANY.lines().map(|line| line.replace('·', "")).collect();
    assert!(lines.len() >= 200);
    let touched: Vec<String> = lines
        .iter()
        .map(|line| (line, redactor.text(line).text))
        .filter(|(line, text)| *line != text)
        .map(|(_, text)| text)
        .collect();
    assert!(touched.len() * 10 <= lines.len(), "{touched:#?}");
}
