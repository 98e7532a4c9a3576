//! The shared values that a runtime was given, one per type.

use std::any::{Any, TypeId, type_name};
use std::collections::HashMap;

/// A state that a handler needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Need {
    pub(crate) type_id: TypeId,
    pub(crate) type_name: &'static str,
}

impl Need {
    pub(crate) fn of<T: 'static>() -> Self {
        Self {
            type_id: TypeId::of::<T>(),
            type_name: type_name::<T>(),
        }
    }
}

/// The states of a runtime, one per type.
#[derive(Default)]
pub(crate) struct States(HashMap<TypeId, Box<dyn Any + Send + Sync>>);

impl States {
    /// Whether `T` was new.
    pub(crate) fn insert<T: Clone + Send + Sync + 'static>(&mut self, value: T) -> bool {
        self.0.insert(TypeId::of::<T>(), Box::new(value)).is_none()
    }

    pub(crate) fn has(&self, need: Need) -> bool {
        self.0.contains_key(&need.type_id)
    }

    pub(crate) fn get<T: Clone + 'static>(&self) -> Option<T> {
        self.0
            .get(&TypeId::of::<T>())
            .and_then(|value| value.downcast_ref())
            .cloned()
    }
}

impl std::fmt::Debug for States {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("States").field(&self.0.len()).finish()
    }
}
