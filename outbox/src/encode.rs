//! From a value to JSON text, refusing what has no exact JSON form.
//!
//! `serde_json` writes NaN and infinities as `null` and recurses as deep as the value goes; both
//! would lose an event. [`Checked`] stands between the value and `serde_json` and refuses them.

use std::cell::Cell;

use serde::ser::{
    Error as _, Serialize, SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant,
    SerializeTuple, SerializeTupleStruct, SerializeTupleVariant, Serializer,
};

/// The deepest nesting that a reader with `serde_json`'s limit takes.
pub(crate) const MAX_DEPTH: usize = 127;

/// Why an event has no JSON form.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EncodeError {
    /// A float is NaN or infinite.
    #[error(
        "a number is NaN or infinite, which JSON can't say; leave the field out or send a string"
    )]
    NotFinite,
    /// The value nests deeper than a reader would follow.
    #[error("the value is nested deeper than {MAX_DEPTH} levels, which can't be read back")]
    TooDeep,
    /// The type's own `Serialize` reported an error, or a map key is neither string nor number.
    #[error("the event's serializer failed")]
    Serializer(#[source] serde_json::Error),
}

/// `value` as JSON text.
///
/// # Errors
///
/// When it has no exact JSON form.
pub fn encode<T: Serialize + ?Sized>(value: &T) -> Result<String, EncodeError> {
    let fault = Cell::new(None);
    let mut text = Vec::with_capacity(128);
    let checked = Checked {
        inner: &mut serde_json::Serializer::new(&mut text),
        depth: 0,
        fault: &fault,
    };
    match value.serialize(checked) {
        Ok(()) => String::from_utf8(text)
            .map_err(|error| EncodeError::Serializer(serde_json::Error::custom(error))),
        Err(error) => Err(match fault.take() {
            Some(Fault::NotFinite) => EncodeError::NotFinite,
            Some(Fault::TooDeep) => EncodeError::TooDeep,
            None => EncodeError::Serializer(error),
        }),
    }
}

#[derive(Clone, Copy)]
enum Fault {
    NotFinite,
    TooDeep,
}

/// A serializer, a compound of one, or a value on its way into one, with the checks around it.
struct Checked<'f, T> {
    inner: T,
    depth: usize,
    fault: &'f Cell<Option<Fault>>,
}

impl<'f, S: Serializer> Checked<'f, S> {
    fn refuse<T>(&self, fault: Fault) -> Result<T, S::Error> {
        self.fault.set(Some(fault));
        Err(S::Error::custom("refused"))
    }

    /// Enters a container that `open` makes of the serializer.
    fn enter<C>(
        self,
        open: impl FnOnce(S) -> Result<C, S::Error>,
    ) -> Result<Checked<'f, C>, S::Error> {
        if self.depth == MAX_DEPTH {
            return self.refuse(Fault::TooDeep);
        }
        let Checked {
            inner,
            depth,
            fault,
        } = self;
        Ok(Checked {
            inner: open(inner)?,
            depth: depth + 1,
            fault,
        })
    }
}

impl<'f, I> Checked<'f, I> {
    /// `value` on its way into this.
    fn pass<'v, T: ?Sized>(&self, value: &'v T) -> Checked<'f, &'v T> {
        Checked {
            inner: value,
            depth: self.depth,
            fault: self.fault,
        }
    }
}

impl<T: Serialize + ?Sized> Serialize for Checked<'_, &T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.inner.serialize(Checked {
            inner: serializer,
            depth: self.depth,
            fault: self.fault,
        })
    }
}

macro_rules! forward {
    ($($method:ident: $type:ty),* $(,)?) => {$(
        fn $method(self, value: $type) -> Result<S::Ok, S::Error> {
            self.inner.$method(value)
        }
    )*};
}

impl<'f, S: Serializer> Serializer for Checked<'f, S> {
    type Ok = S::Ok;
    type Error = S::Error;
    type SerializeSeq = Checked<'f, S::SerializeSeq>;
    type SerializeTuple = Checked<'f, S::SerializeTuple>;
    type SerializeTupleStruct = Checked<'f, S::SerializeTupleStruct>;
    type SerializeTupleVariant = Checked<'f, S::SerializeTupleVariant>;
    type SerializeMap = Checked<'f, S::SerializeMap>;
    type SerializeStruct = Checked<'f, S::SerializeStruct>;
    type SerializeStructVariant = Checked<'f, S::SerializeStructVariant>;

    forward! {
        serialize_bool: bool, serialize_i8: i8, serialize_i16: i16, serialize_i32: i32,
        serialize_i64: i64, serialize_i128: i128, serialize_u8: u8, serialize_u16: u16,
        serialize_u32: u32, serialize_u64: u64, serialize_u128: u128, serialize_char: char,
        serialize_str: &str, serialize_bytes: &[u8], serialize_unit_struct: &'static str,
    }

    fn serialize_f32(self, value: f32) -> Result<S::Ok, S::Error> {
        if value.is_finite() {
            self.inner.serialize_f32(value)
        } else {
            self.refuse(Fault::NotFinite)
        }
    }

    fn serialize_f64(self, value: f64) -> Result<S::Ok, S::Error> {
        if value.is_finite() {
            self.inner.serialize_f64(value)
        } else {
            self.refuse(Fault::NotFinite)
        }
    }

    fn serialize_none(self) -> Result<S::Ok, S::Error> {
        self.inner.serialize_none()
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<S::Ok, S::Error> {
        let value = self.pass(value);
        self.inner.serialize_some(&value)
    }

    fn serialize_unit(self) -> Result<S::Ok, S::Error> {
        self.inner.serialize_unit()
    }

    fn serialize_unit_variant(
        self,
        name: &'static str,
        index: u32,
        variant: &'static str,
    ) -> Result<S::Ok, S::Error> {
        self.inner.serialize_unit_variant(name, index, variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        value: &T,
    ) -> Result<S::Ok, S::Error> {
        let value = self.pass(value);
        self.inner.serialize_newtype_struct(name, &value)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        index: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<S::Ok, S::Error> {
        if self.depth == MAX_DEPTH {
            return self.refuse(Fault::TooDeep);
        }
        let value = Checked {
            inner: value,
            depth: self.depth + 1,
            fault: self.fault,
        };
        self.inner
            .serialize_newtype_variant(name, index, variant, &value)
    }

    fn serialize_seq(self, len: Option<usize>) -> Result<Self::SerializeSeq, S::Error> {
        self.enter(|inner| inner.serialize_seq(len))
    }

    fn serialize_tuple(self, len: usize) -> Result<Self::SerializeTuple, S::Error> {
        self.enter(|inner| inner.serialize_tuple(len))
    }

    fn serialize_tuple_struct(
        self,
        name: &'static str,
        len: usize,
    ) -> Result<Self::SerializeTupleStruct, S::Error> {
        self.enter(|inner| inner.serialize_tuple_struct(name, len))
    }

    fn serialize_tuple_variant(
        self,
        name: &'static str,
        index: u32,
        variant: &'static str,
        len: usize,
    ) -> Result<Self::SerializeTupleVariant, S::Error> {
        self.enter(|inner| inner.serialize_tuple_variant(name, index, variant, len))
    }

    fn serialize_map(self, len: Option<usize>) -> Result<Self::SerializeMap, S::Error> {
        self.enter(|inner| inner.serialize_map(len))
    }

    fn serialize_struct(
        self,
        name: &'static str,
        len: usize,
    ) -> Result<Self::SerializeStruct, S::Error> {
        self.enter(|inner| inner.serialize_struct(name, len))
    }

    fn serialize_struct_variant(
        self,
        name: &'static str,
        index: u32,
        variant: &'static str,
        len: usize,
    ) -> Result<Self::SerializeStructVariant, S::Error> {
        self.enter(|inner| inner.serialize_struct_variant(name, index, variant, len))
    }

    fn collect_str<T: std::fmt::Display + ?Sized>(self, value: &T) -> Result<S::Ok, S::Error> {
        self.inner.collect_str(value)
    }

    fn is_human_readable(&self) -> bool {
        self.inner.is_human_readable()
    }
}

macro_rules! compound {
    ($($trait:ident: $method:ident($($key:ident)?)),* $(,)?) => {$(
        impl<C: $trait> $trait for Checked<'_, C> {
            type Ok = C::Ok;
            type Error = C::Error;

            fn $method<T: Serialize + ?Sized>(
                &mut self,
                $($key: &'static str,)?
                value: &T,
            ) -> Result<(), C::Error> {
                let value = self.pass(value);
                self.inner.$method($($key,)? &value)
            }

            fn end(self) -> Result<C::Ok, C::Error> {
                self.inner.end()
            }
        }
    )*};
}

compound! {
    SerializeSeq: serialize_element(),
    SerializeTuple: serialize_element(),
    SerializeTupleStruct: serialize_field(),
    SerializeTupleVariant: serialize_field(),
    SerializeStruct: serialize_field(key),
    SerializeStructVariant: serialize_field(key),
}

impl<C: SerializeMap> SerializeMap for Checked<'_, C> {
    type Ok = C::Ok;
    type Error = C::Error;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), C::Error> {
        let key = self.pass(key);
        self.inner.serialize_key(&key)
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), C::Error> {
        let value = self.pass(value);
        self.inner.serialize_value(&value)
    }

    fn end(self) -> Result<C::Ok, C::Error> {
        self.inner.end()
    }
}
