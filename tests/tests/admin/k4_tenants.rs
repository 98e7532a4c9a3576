//! K4: a tenant's scope holds its own records; others do not exist for it.

use outbox::{Admin, AdminError, Mutation, NameFault, Status};
use outbox_tests::Database;

use crate::{conflict, record, row};

#[tokio::test]
async fn k4_other_tenants_records_do_not_exist() {
    let database = Database::new().await;
    let acme = Admin::tenant(database.pool(), "acme").unwrap();
    for status in [
        Status::Pending,
        Status::Processing,
        Status::Sent,
        Status::Failed,
    ] {
        for tenant in [
            None,
            Some("other"),
            Some("Acme"),
            Some("acm"),
            Some("acme.eu"),
        ] {
            let id = record(&database, status, tenant).await;
            let before = row(&database, id).await;
            assert_eq!(acme.get(id).await.unwrap(), None);
            assert_eq!(acme.retry(id).await.unwrap(), Mutation::NotFound);
            assert_eq!(
                acme.mark_failed(id, "no").await.unwrap(),
                Mutation::NotFound
            );
            assert_eq!(row(&database, id).await, before);
        }
    }
}

#[tokio::test]
async fn k4_its_own_are_as_an_operators() {
    let database = Database::new().await;
    let acme = Admin::tenant(database.pool(), "acme").unwrap();
    let failed = record(&database, Status::Failed, Some("acme")).await;
    assert_eq!(
        acme.get(failed).await.unwrap(),
        Some(row(&database, failed).await)
    );
    assert_eq!(acme.retry(failed).await.unwrap(), Mutation::Applied);
    assert_eq!(acme.retry(failed).await.unwrap(), conflict(Status::Pending));
    assert_eq!(
        acme.mark_failed(failed, "no").await.unwrap(),
        Mutation::Applied
    );
    let operator = Admin::operator(database.pool());
    assert_eq!(operator.retry(failed).await.unwrap(), Mutation::Applied);
}

#[tokio::test]
async fn k4_a_tenant_is_named_exactly_or_not_at_all() {
    let database = Database::new().await;
    for (bad, fault) in [
        (String::new(), NameFault::Empty),
        ("acme ".to_owned(), NameFault::WhiteSpace),
        (" acme".to_owned(), NameFault::WhiteSpace),
        ("acme\u{2003}".to_owned(), NameFault::WhiteSpace),
        ("ac\0me".to_owned(), NameFault::Nul),
        ("x".repeat(256), NameFault::TooLong(256)),
    ] {
        let error = Admin::tenant(database.pool(), bad).unwrap_err();
        let AdminError::InvalidTenant { fault: got, .. } = error else {
            panic!("{error:?}");
        };
        assert_eq!(got, fault);
    }
    assert!(Admin::tenant(database.pool(), "é".repeat(255)).is_ok());
}
