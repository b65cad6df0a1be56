//! Lists of paths in JSON: each as [`stored_path`] writes it, so that any bytes survive. For serde's `with`.

use serde::{Deserialize, Deserializer, Serializer, de::Error as _, ser::SerializeSeq};

use super::state::{path_from_stored, stored_path};

/// Writes a list of paths.
///
/// # Errors
/// The serializer's.
pub fn serialize<'p, S, L>(paths: L, serializer: S) -> Result<S::Ok, S::Error>
where
    S: Serializer,
    L: IntoIterator<Item = &'p Vec<u8>>,
{
    let mut list = serializer.serialize_seq(None)?;
    for path in paths {
        list.serialize_element(&stored_path(path))?;
    }
    list.end()
}

/// Reads a list of paths.
///
/// # Errors
/// The deserializer's, and a path that is not well quoted.
pub fn deserialize<'de, D, L>(deserializer: D) -> Result<L, D::Error>
where
    D: Deserializer<'de>,
    L: FromIterator<Vec<u8>>,
{
    let read = |text: String| {
        path_from_stored(&text).ok_or_else(|| D::Error::custom("a path is not well quoted"))
    };
    let texts = Vec::<String>::deserialize(deserializer)?;
    texts.into_iter().map(read).collect()
}

#[cfg(test)]
mod tests {
    use serde::{Deserialize, Serialize};
    use std::collections::BTreeSet;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Lists {
        #[serde(with = "super")]
        list: Vec<Vec<u8>>,
        #[serde(with = "super")]
        set: BTreeSet<Vec<u8>>,
    }

    #[test]
    fn any_bytes_survive() {
        let paths = [&b"a/b"[..], b"\xff\"\\", b"", b"\"x"].map(<[u8]>::to_vec);
        let lists = Lists {
            list: paths.to_vec(),
            set: paths.into_iter().collect(),
        };
        let text = serde_json::to_string(&lists).expect("written");
        assert!(text.starts_with(r#"{"list":["a/b","#), "{text}");
        assert_eq!(serde_json::from_str::<Lists>(&text).expect("read"), lists);
        let bad = text.replace("a/b", r#"\"a"#);
        assert!(serde_json::from_str::<Lists>(&bad).is_err(), "{bad}");
    }
}
