//! Values that user code creates and that only their computation can interpret.

use std::any::Any;
use std::fmt::{self, Debug};

use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A result of frames that only its computation can interpret. The core merges such values in block order.
pub trait Value: Any + Debug + Send + Sync {
    /// Announces the number of frames that will come, if it is known.
    fn expect(&mut self, n_frames: u64);

    /// Marks this value as the one that begins with the first frame of a run. The values of all other frames will be
    /// merged into it in order.
    fn begin(&mut self) {}

    /// Adds the value of the frames that follow. `next` is a value of the same computation, or its bytes.
    fn merge(&mut self, next: Own);

    /// Serializes the value into one or more bytes, for another process or a file.
    fn to_bytes(&self) -> Vec<u8>;
}

/// A value of this process, or the bytes of a value from elsewhere. Only the computation can interpret the bytes.
#[derive(Debug, Default)]
pub enum Own {
    /// No value.
    #[default]
    Nothing,
    /// A value of this process.
    Here(Box<dyn Value>),
    /// A value that came from another process, or from a file.
    Bytes(Vec<u8>),
}

impl Own {
    /// Returns the value if it is a value of this process and of type `T`.
    pub fn here<T: Value>(&mut self) -> Option<&mut T> {
        match self {
            Own::Here(value) => (&mut **value as &mut dyn Any).downcast_mut(),
            _ => None,
        }
    }

    /// Announces the number of frames that will come.
    pub(crate) fn expect(&mut self, n_frames: u64) {
        if let Own::Here(value) = self {
            value.expect(n_frames);
        }
    }

    /// Marks this value as the one that begins with the first frame of a run.
    pub(crate) fn begin(&mut self) {
        if let Own::Here(value) = self {
            value.begin();
        }
    }

    /// Adds the value of the frames that follow.
    pub(crate) fn merge(&mut self, next: Own) {
        match (&mut *self, next) {
            (_, Own::Nothing) => {}
            (Own::Nothing, next) => *self = next,
            (Own::Here(value), next) => value.merge(next),
            (Own::Bytes(_), _) => unreachable!("what came as bytes is merged into what its kernel has made"),
        }
    }
}

impl Clone for Own {
    /// Clones the value as bytes.
    fn clone(&self) -> Self {
        match self {
            Own::Nothing => Own::Nothing,
            Own::Here(value) => Own::Bytes(value.to_bytes()),
            Own::Bytes(bytes) => Own::Bytes(bytes.clone()),
        }
    }
}

impl PartialEq for Own {
    fn eq(&self, other: &Self) -> bool {
        match (self.clone(), other.clone()) {
            (Own::Bytes(one), Own::Bytes(other)) => one == other,
            (one, other) => matches!((one, other), (Own::Nothing, Own::Nothing)),
        }
    }
}

impl Serialize for Own {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Own::Nothing => serializer.serialize_bytes(&[]),
            Own::Here(value) => serializer.serialize_bytes(&value.to_bytes()),
            Own::Bytes(bytes) => serializer.serialize_bytes(bytes),
        }
    }
}

impl<'de> Deserialize<'de> for Own {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_bytes(OwnVisitor)
    }
}

struct OwnVisitor;

impl Visitor<'_> for OwnVisitor {
    type Value = Own;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("the bytes of a value")
    }

    fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Own, E> {
        Ok(if bytes.is_empty() { Own::Nothing } else { Own::Bytes(bytes.to_vec()) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A value that shows the order of merging.
    #[derive(Debug)]
    struct Text(String);

    impl Value for Text {
        fn expect(&mut self, n_frames: u64) {
            self.0 += &n_frames.to_string();
        }

        fn merge(&mut self, next: Own) {
            self.0 += &match next {
                Own::Here(next) => (next as Box<dyn Any>).downcast::<Text>().unwrap().0,
                Own::Bytes(bytes) => String::from_utf8(bytes).unwrap(),
                Own::Nothing => String::new(),
            };
        }

        fn to_bytes(&self) -> Vec<u8> {
            self.0.clone().into_bytes()
        }
    }

    fn text(content: &str) -> Own {
        Own::Here(Box::new(Text(content.into())))
    }

    #[test]
    fn values_merge_in_order_wherever_they_come_from() {
        let mut whole = Own::Nothing;
        whole.merge(text("a"));
        whole.merge(Own::Nothing);
        whole.merge(text("b"));
        whole.merge(postcard::from_bytes(&postcard::to_allocvec(&text("c")).unwrap()).unwrap());
        whole.expect(7);
        assert_eq!(whole.here::<Text>().unwrap().0, "abc7");
        assert_eq!(whole, text("abc7"));
        assert_ne!(whole, text("abc"));
    }

    #[test]
    fn nothing_stays_nothing_on_its_way() {
        let came: Own = postcard::from_bytes(&postcard::to_allocvec(&Own::Nothing).unwrap()).unwrap();
        assert_eq!(came, Own::Nothing);
        assert_ne!(came, text(""), "no value is not an empty one");
    }
}
