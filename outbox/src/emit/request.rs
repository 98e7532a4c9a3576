//! What an emit asks for, and whether it can be had: all checks that precede the SQL.

use std::collections::BTreeMap;
use std::time::Duration;

use chrono::{DateTime, Datelike, Utc};
use sqlx::{Connection, PgConnection};
use uuid::Uuid;

use super::error::EmitError;
use super::limits::{MAX_DELAY, MAX_HEADERS};
use crate::event::OutboxEvent;
use crate::json_text::{as_stored, numbers_are_kept_as_text, same_content, scan};
use crate::pattern::{check_event_type, check_id};
use crate::retry::{DEFAULT_MAX_RETRIES, ceil_ms};

/// What the builders collect.
#[derive(Debug, Default)]
pub(super) struct Options {
    pub(super) tenant_id: Option<String>,
    pub(super) headers: BTreeMap<String, String>,
    pub(super) correlation_id: Option<String>,
    pub(super) causation_id: Option<String>,
    pub(super) aggregate: Option<(String, String)>,
    pub(super) partition_key: Option<String>,
    pub(super) occurred_at: Option<DateTime<Utc>>,
    pub(super) delay: Duration,
    pub(super) max_retries: Option<i32>,
    pub(super) in_own_transaction: bool,
}

/// The options as columns: all in their bounds.
#[derive(Debug)]
pub(super) struct Columns<'o> {
    pub(super) headers: String,
    pub(super) max_retries: Option<i32>,
    pub(super) delay_ms: i64,
    pub(super) occurred_at: Option<DateTime<Utc>>,
    pub(super) tenant_id: Option<&'o str>,
    pub(super) aggregate_type: Option<&'o str>,
    pub(super) aggregate_id: Option<&'o str>,
    pub(super) partition_key: Option<&'o str>,
    pub(super) correlation_id: Option<&'o str>,
    pub(super) causation_id: Option<&'o str>,
}

impl Options {
    /// Whether `connection` is where an event may be written.
    pub(super) fn check_transaction(&self, connection: &PgConnection) -> Result<(), EmitError> {
        if self.in_own_transaction || connection.is_in_transaction() {
            Ok(())
        } else {
            Err(EmitError::NotInTransaction)
        }
    }

    /// The columns, with `tenant_id` where the call names no tenant.
    pub(super) fn columns<'o>(
        &'o self,
        tenant_id: Option<&'o str>,
    ) -> Result<Columns<'o>, EmitError> {
        let aggregate = self.aggregate.as_ref();
        Ok(Columns {
            headers: headers_text(&self.headers)?,
            max_retries: self.max_retries.map(check_max_retries).transpose()?,
            delay_ms: delay_ms(self.delay)?,
            occurred_at: self.occurred_at.map(check_occurred_at).transpose()?,
            tenant_id: id("tenant_id", self.tenant_id.as_deref().or(tenant_id))?,
            aggregate_type: id("aggregate_type", aggregate.map(|(kind, _)| kind.as_str()))?,
            aggregate_id: id("aggregate_id", aggregate.map(|(_, id)| id.as_str()))?,
            partition_key: id("partition_key", self.partition_key.as_deref())?,
            correlation_id: id("correlation_id", self.correlation_id.as_deref())?,
            causation_id: id("causation_id", self.causation_id.as_deref())?,
        })
    }
}

fn id<'o>(field: &'static str, value: Option<&'o str>) -> Result<Option<&'o str>, EmitError> {
    if let Some(value) = value {
        check_id(value).map_err(|fault| EmitError::InvalidField { field, fault })?;
    }
    Ok(value)
}

pub(super) fn check_tenant(tenant_id: &str) -> Result<(), EmitError> {
    id("tenant_id", Some(tenant_id)).map(|_| ())
}

fn headers_text(headers: &BTreeMap<String, String>) -> Result<String, EmitError> {
    if headers.is_empty() {
        return Ok("{}".to_owned());
    }
    if let Some((key, _)) = headers
        .iter()
        .find(|(key, value)| key.contains('\0') || value.contains('\0'))
    {
        return Err(EmitError::NulInHeader { key: key.clone() });
    }
    let text = serde_json::to_string(headers).map_err(|source| EmitError::Serializer {
        event_type: "headers".to_owned(),
        source,
    })?;
    if text.len() > MAX_HEADERS {
        return Err(EmitError::HeadersTooLarge {
            size: text.len(),
            limit: MAX_HEADERS,
        });
    }
    Ok(text)
}

pub(super) fn check_max_retries(attempts: i32) -> Result<i32, EmitError> {
    if attempts < 1 {
        return Err(EmitError::InvalidMaxRetries(attempts));
    }
    Ok(attempts)
}

fn delay_ms(delay: Duration) -> Result<i64, EmitError> {
    if delay > MAX_DELAY {
        return Err(EmitError::DelayTooLong(delay));
    }
    Ok(ceil_ms(delay))
}

fn check_occurred_at(time: DateTime<Utc>) -> Result<DateTime<Utc>, EmitError> {
    if !(1..=9999).contains(&time.year()) {
        return Err(EmitError::InvalidOccurredAt(time));
    }
    Ok(time)
}

/// The payload of `event`: JSON text that PostgreSQL stores and a handler reads back.
pub(super) fn payload<E: OutboxEvent>(event: &E, limit: usize) -> Result<String, EmitError> {
    let event_type = event.event_type();
    check_event_type(event_type).map_err(|fault| EmitError::InvalidField {
        field: "event_type",
        fault,
    })?;
    let json = event
        .to_json()
        .map_err(|error| EmitError::encoding(event_type, error))?;
    // Before the text is looked at: what is too large costs nothing more.
    if json.len() > limit {
        return Err(EmitError::PayloadTooLarge {
            event_type: event_type.to_owned(),
            size: json.len(),
            limit,
        });
    }
    let facts = scan(&json).map_err(|fault| EmitError::payload(event_type, fault))?;
    if facts.wide || numbers_are_kept_as_text() {
        check_reads_back::<E>(event_type, &json)?;
    }
    Ok(json)
}

/// Whether a handler gets from `json` the event that was emitted. Asked only where numbers are in
/// danger; all else reads back by construction.
fn check_reads_back<E: OutboxEvent>(event_type: &str, json: &str) -> Result<(), EmitError> {
    let event =
        E::receive(event_type, &as_stored(json)).map_err(|source| EmitError::Unreadable {
            event_type: event_type.to_owned(),
            source,
        })?;
    match event.to_json() {
        Ok(again) if same_content(json, &again) => Ok(()),
        _ => Err(EmitError::Inexact {
            event_type: event_type.to_owned(),
        }),
    }
}

/// The limit of a record for which neither the call, nor the handler, nor the subscription says one.
pub(super) fn fallback_max_retries<E: OutboxEvent>(emitter: Option<i32>) -> Result<i32, EmitError> {
    match E::MAX_RETRIES.or(emitter) {
        Some(attempts) => check_max_retries(attempts),
        None => Ok(DEFAULT_MAX_RETRIES),
    }
}

/// The ids of a new event and of its records: two different ones, so that neither is taken for the
/// other.
pub(super) fn new_ids() -> (Uuid, Uuid) {
    (Uuid::now_v7(), Uuid::now_v7())
}
