//! The arguments of `#[outbox::handler(…)]`.

use std::collections::HashSet;

use proc_macro2::{Ident, TokenStream};
use syn::LitStr;
use syn::ext::IdentExt as _;

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
        key: "backoff",
        takes: "`\"fixed\"` or `\"exponential\"`",
        example: "\"fixed\"",
    },
    Known {
        key: "initial_delay",
        takes: DURATION,
        example: "\"250ms\"",
    },
    Known {
        key: "max_delay",
        takes: DURATION,
        example: "\"1h\"",
    },
    Known {
        key: "timeout",
        takes: DURATION,
        example: "\"30s\"",
    },
    Known {
        key: "name",
        takes: "a string",
        example: "\"send_confirmation\"",
    },
    Known {
        key: "alias",
        takes: "a string or a list of strings",
        example: "\"former_name\"",
    },
    Known {
        key: "crate",
        takes: "a string with the path of the `outbox` crate",
        example: "\"outbox\"",
    },
];

const DURATION: &str = "a duration, `\"250ms\"`, `\"30s\"`, `\"5m\"`, `\"1h\"`, \
     or an integer of milliseconds, up to 2147483647 ms";

/// How the delay grows.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Backoff {
    Fixed,
    Exponential,
}

/// What the arguments say; durations in milliseconds.
#[derive(Default)]
pub(crate) struct Settings {
    pub(crate) event: Option<LitStr>,
    pub(crate) max_retries: Option<u32>,
    pub(crate) backoff: Option<Backoff>,
    pub(crate) initial_delay: Option<u32>,
    pub(crate) max_delay: Option<u32>,
    pub(crate) timeout: Option<u32>,
    pub(crate) name: Option<LitStr>,
    pub(crate) aliases: Vec<LitStr>,
    pub(crate) paths: Paths,
}

pub(crate) fn read(tokens: TokenStream, faults: &mut Faults) -> Settings {
    let mut arguments = Vec::new();
    args::read(tokens, KNOWN, &mut arguments, faults);
    let mut settings = Settings::default();
    for argument in &arguments {
        set(&mut settings, argument, faults);
    }
    check_delays(&settings, &arguments, faults);
    settings
}

fn set(settings: &mut Settings, argument: &Argument, faults: &mut Faults) {
    match argument.key.to_string().as_str() {
        "event" => {
            settings.event = argument.name("event type", event_name::check_pattern, faults);
        }
        "max_retries" => settings.max_retries = argument.attempts(faults),
        "backoff" => {
            let choices = [
                ("fixed", Backoff::Fixed),
                ("exponential", Backoff::Exponential),
            ];
            settings.backoff = argument.choice(&choices, faults);
        }
        "initial_delay" => settings.initial_delay = argument.duration(0, faults),
        "max_delay" => settings.max_delay = argument.duration(0, faults),
        "timeout" => settings.timeout = argument.duration(1, faults),
        "name" => settings.name = argument.name("handler's name", event_name::check, faults),
        "alias" => settings.aliases = argument.names("alias", event_name::check, faults),
        // `crate`: the reader lets no other key pass.
        _ => settings.paths = argument.paths(faults).unwrap_or_default(),
    }
}

/// An exponential delay begins no higher than where it ends.
fn check_delays(settings: &Settings, arguments: &[Argument], faults: &mut Faults) {
    let (Some(initial), Some(max)) = (settings.initial_delay, settings.max_delay) else {
        return;
    };
    if initial <= max || settings.backoff == Some(Backoff::Fixed) {
        return;
    }
    let later = arguments
        .iter()
        .rev()
        .find(|argument| argument.key == "initial_delay" || argument.key == "max_delay");
    if let Some(later) = later {
        faults.on(
            &later.key,
            format!(
                "`initial_delay` is {initial} ms, more than `max_delay`, {max} ms\n\
                 help: write `max_delay = {initial}` or more, or `backoff = \"fixed\"`"
            ),
        );
    }
}

/// The handler's name and its former names are names, each once.
pub(crate) fn check_names(settings: &Settings, function: &Ident, faults: &mut Faults) {
    let name = name(settings, function);
    if settings.name.is_none()
        && let Err(event_name::Fault { found, .. }) = event_name::check(&name)
    {
        let message = format!("the handler's name {found}\nhelp: give one with `name = \"…\"`");
        faults.on(function, message);
    }
    let mut seen = HashSet::from([name.clone()]);
    for alias in &settings.aliases {
        let value = alias.value();
        let message = if value == name {
            format!("the alias `{value:?}` is the handler's name; expected a former one")
        } else {
            format!("the alias `{value:?}` is given twice")
        };
        if !seen.insert(value) {
            faults.on(alias, format!("{message}\nhelp: remove it"));
        }
    }
}

/// What the handler is called on its records.
pub(crate) fn name(settings: &Settings, function: &Ident) -> String {
    settings
        .name
        .as_ref()
        .map_or_else(|| function.unraw().to_string(), LitStr::value)
}
