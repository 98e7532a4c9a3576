//! `#[outbox(…)]` on a type.

use syn::{Attribute, Data, DeriveInput, Meta};

use crate::args::{self, Argument, Known};
use crate::event_name;
use crate::faults::Faults;
use crate::paths::Paths;

const KNOWN: &[Known] = &[
    Known {
        key: "event",
        takes: "a string",
        example: "\"order.created\"",
    },
    Known {
        key: "max_retries",
        takes: "an integer from 1 to 2147483647",
        example: "5",
    },
    Known {
        key: "serde",
        takes: "`\"own\"`",
        example: "\"own\"",
    },
    Known {
        key: "crate",
        takes: "a string with the path of the `outbox` crate",
        example: "\"outbox\"",
    },
];

/// Whose JSON it is.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Serialization {
    /// Generated for the event alone.
    #[default]
    Generated,
    /// Of the type's own `Serialize` and `Deserialize`.
    Own,
}

/// What the attributes say.
#[derive(Default)]
pub(crate) struct Settings {
    pub(crate) event_type: String,
    pub(crate) max_retries: Option<u32>,
    pub(crate) serialization: Serialization,
    pub(crate) paths: Paths,
}

pub(crate) fn read(item: &DeriveInput, faults: &mut Faults) -> Settings {
    let mut arguments = Vec::new();
    for attribute in outbox(&item.attrs) {
        match &attribute.meta {
            Meta::List(list) => {
                args::read(list.tokens.clone(), KNOWN, &mut arguments, faults);
            }
            other => faults.on(
                other,
                "expected `#[outbox(…)]`\nhelp: write `#[outbox(event = \"order.created\")]`",
            ),
        }
    }
    refuse_inside(item, faults);
    let mut settings = Settings::default();
    let named = arguments.iter().any(|argument| argument.key == "event");
    for argument in &arguments {
        set(&mut settings, argument, faults);
    }
    if !named {
        settings.event_type = default_event_type(item, faults);
    }
    settings
}

fn set(settings: &mut Settings, argument: &Argument, faults: &mut Faults) {
    match argument.key.to_string().as_str() {
        "event" => {
            let name = argument.name("event type", event_name::check_event_type, faults);
            settings.event_type = name.map(|name| name.value()).unwrap_or_default();
        }
        "max_retries" => settings.max_retries = argument.attempts(faults),
        "serde" => {
            let own = argument.choice(&[("own", Serialization::Own)], faults);
            settings.serialization = own.unwrap_or_default();
        }
        // `crate`: the reader lets no other key pass.
        _ => settings.paths = argument.paths(faults).unwrap_or_default(),
    }
}

/// The type's name, as an event type.
fn default_event_type(item: &DeriveInput, faults: &mut Faults) -> String {
    let event_type = event_name::from_type_name(&item.ident.to_string());
    if let Err(event_name::Fault { found, .. }) = event_name::check_event_type(&event_type) {
        let ident = &item.ident;
        faults.on(
            ident,
            format!(
                "the event type that the name `{ident}` stands for {found}\n\
                 help: write `#[outbox(event = \"order.created\")]` above the type"
            ),
        );
    }
    event_type
}

/// Nothing inside a type has settings of its own.
fn refuse_inside(item: &DeriveInput, faults: &mut Faults) {
    let mut refuse = |attributes: &[Attribute], kind: &str| {
        for attribute in outbox(attributes) {
            faults.on(
                attribute,
                format!(
                    "`#[outbox(…)]` on a {kind} says nothing; expected it on the type\n\
                     help: write it above the type"
                ),
            );
        }
    };
    match &item.data {
        Data::Struct(data) => {
            for field in &data.fields {
                refuse(&field.attrs, "field");
            }
        }
        Data::Enum(data) => {
            for variant in &data.variants {
                refuse(&variant.attrs, "variant");
                for field in &variant.fields {
                    refuse(&field.attrs, "field");
                }
            }
        }
        // Refused as a whole.
        Data::Union(_) => {}
    }
}

fn outbox(attributes: &[Attribute]) -> impl Iterator<Item = &Attribute> {
    attributes
        .iter()
        .filter(|attribute| attribute.path().is_ident("outbox"))
}
