//! From JSON text to a value, with an error that says where.

use serde::de::DeserializeOwned;

/// A payload does not fit its type.
#[derive(Debug, thiserror::Error)]
#[error("the payload is not a `{type_name}`: at `{path}`: {cause}")]
pub struct DecodeError {
    type_name: &'static str,
    path: String,
    // Part of the text, so that one line says it all; hence not also the source.
    cause: String,
}

impl DecodeError {
    /// The Rust type that was asked for.
    #[must_use]
    pub fn type_name(&self) -> &'static str {
        self.type_name
    }

    /// Where in the payload, such as `lines[2].price`; `.` is the whole of it.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }
}

/// `json` as a `T`.
///
/// # Errors
///
/// When the text does not fit; only then the path is worked out, so the good case pays nothing.
pub fn decode<T: DeserializeOwned>(json: &str) -> Result<T, DecodeError> {
    decode_as(json, std::any::type_name::<T>())
}

/// As [`decode`], for a stand-in of the type `type_name`.
///
/// # Errors
///
/// As [`decode`].
pub fn decode_as<T: DeserializeOwned>(
    json: &str,
    type_name: &'static str,
) -> Result<T, DecodeError> {
    serde_json::from_str(json).map_err(|plain| {
        let mut deserializer = serde_json::Deserializer::from_str(json);
        let (path, cause) = match serde_path_to_error::deserialize::<_, T>(&mut deserializer) {
            Err(error) => (error.path().to_string(), error.into_inner()),
            // Text after the value: only the plain run looks at it.
            Ok(_) => (".".to_owned(), plain),
        };
        DecodeError {
            type_name,
            path,
            cause: cause.to_string(),
        }
    })
}
