//! How long a change waits, and what it says when it does not come to its end.

use domain::membership::answer::Waiting;

use super::*;

fn wait<'a>(call: &'a Call, milliseconds: u64) -> Wait<'a> {
    Wait::new(call, "b", Duration::from_millis(milliseconds))
}

/// A pass that would go on for ever, and looks between two steps whether it should stop.
async fn endless(stop: CancellationToken) -> Result<(), Error> {
    stop.cancelled().await;
    Err(Error::MemberStopped {
        member: "b".to_owned(),
        before: "join b at 10.0.0.2:8443".to_owned(),
    })
}

#[tokio::test]
async fn a_pass_that_does_not_end_is_stopped_when_time_is_over() {
    let call = Call::default();
    let mut wait = wait(&call, 5);
    let stop = wait.stop.clone();
    let error = wait.within(endless(stop)).await.expect_err("it is endless");
    let trouble = wait.for_calm(error).await.expect_err("time is over");
    assert!(matches!(trouble, Trouble::TimedOut { .. }), "{trouble:?}");
    assert!(trouble.to_string().contains("join b"), "{trouble}");
}

#[tokio::test]
async fn a_user_who_stops_is_told_so_and_not_that_time_is_over() {
    let token = CancellationToken::new();
    let call = Call::new(token.clone());
    let mut wait = wait(&call, 60_000);
    let stop = wait.stop.clone();
    token.cancel();
    let error = wait.within(endless(stop)).await.expect_err("it is endless");
    let trouble = wait.for_calm(error).await.expect_err("it was stopped");
    assert!(matches!(trouble, Trouble::Stopped { .. }), "{trouble:?}");
    let trouble = wait
        .for_(&Waiting::Trust, "initializing", member::PAUSE)
        .await;
    let trouble = trouble.expect_err("it was stopped");
    assert!(matches!(trouble, Trouble::Stopped { .. }), "{trouble:?}");
}

/// HO-JOIN-31.
#[tokio::test]
async fn what_is_awaited_at_the_end_is_told() {
    let call = Call::default();
    let trouble = wait(&call, 0)
        .for_(&Waiting::Cluster, "waiting-for-cluster", member::PAUSE)
        .await;
    let trouble = trouble.expect_err("time is over");
    assert_eq!(trouble.to_string(), Waiting::Cluster.to_string());
}

/// A step may take ten minutes, and what fails after it is not what failed before.
#[tokio::test]
async fn a_disturbance_ends_with_the_next_step_that_is_taken() {
    let busy = || {
        Error::Incus(incus::Error::Refused {
            doing: "listing the members".to_owned(),
            endpoint: incus::Endpoint::parse("https://10.0.0.1").expect("an endpoint"),
            code: 500,
            message: "no leader".to_owned(),
        })
    };
    let call = Call::default();
    for (steps, is_tried_again) in [(2, false), (3, true)] {
        // The time is over, so what would be tried again is told as late.
        let mut wait = wait(&call, 0);
        wait.came_to(2);
        wait.disturbed_at = Instant::now().checked_sub(Duration::from_secs(600));
        wait.came_to(steps);
        let trouble = wait.for_calm(busy()).await.expect_err("either way");
        let is_late = matches!(trouble, Trouble::TimedOut { .. });
        assert_eq!(is_late, is_tried_again, "{steps}: {trouble:?}");
    }
}
