//! Each fault is found, under the name of the rule that it breaks; without one nothing is.
//!
//! The faults are made by `examples/faulty`. The numbers are those of the accidents in `Rule::trap`.

use tfplugin::testing::{Launch, Report, Rule};

use super::conformance;

/// The fault, the registered thing that shows it, and the rule.
const FAULTS: &[(&str, &str, Rule)] = &[
    // Plans.
    (
        "plans-a-value-of-its-own",
        "toy_box",
        Rule::PlannedWithoutComputed,
    ),
    ("respells-a-text", "toy_box", Rule::PlanDiffersFromConfig),
    ("sorts-a-list", "toy_box", Rule::PlanReordersList),
    (
        "empties-what-is-null",
        "toy_box",
        Rule::PlanConfusesNullAndEmpty,
    ),
    ("leaves-an-attribute-out", "toy_box", Rule::DoesNotFit),
    ("rounds-a-number", "toy_box", Rule::PlanChangesNumber),
    (
        "keeps-what-will-change",
        "toy_box",
        Rule::ResultDiffersFromPlan,
    ),
    ("is-never-sure", "toy_box", Rule::UnknownWithoutChange),
    ("always-wants-to-change", "toy_box", Rule::NeverSettles),
    ("forgets-the-object", "toy_box", Rule::PlanLosesObject),
    (
        "plans-a-destruction-as-a-change",
        "toy_box",
        Rule::DestroyPlanned,
    ),
    ("rolls-dice", "toy_box", Rule::PlanNotRepeatable),
    ("changes-its-mind", "toy_box", Rule::InconsistentFinalPlan),
    ("replaces-always", "toy_box", Rule::ReplacesWithoutChange),
    ("replaces-a-creation", "toy_box", Rule::ReplacesAtCreate),
    (
        "replaces-because-of-a-sets-element",
        "toy_box",
        Rule::ReplacePathMissing,
    ),
    ("needs-a-prior-state", "toy_box", Rule::ReplacementPlanFails),
    (
        "drops-private-state-in-a-plan",
        "toy_box",
        Rule::PlanLosesPrivate,
    ),
    (
        "drops-the-identity-in-a-plan",
        "toy_box",
        Rule::PlanLosesIdentity,
    ),
    // States.
    (
        "makes-something-else",
        "toy_box",
        Rule::ResultDiffersFromPlan,
    ),
    (
        "makes-a-longer-list",
        "toy_box",
        Rule::ResultDiffersFromPlan,
    ),
    (
        "leaves-something-unknown",
        "toy_box",
        Rule::UnknownAfterApply,
    ),
    ("answers-nothing", "toy_box", Rule::StateMissing),
    ("keeps-what-is-destroyed", "toy_box", Rule::StateLeft),
    (
        "forgets-a-failed-creation",
        "toy_box",
        Rule::ForgottenAfterFailure,
    ),
    (
        "records-a-failed-update-as-done",
        "toy_box",
        Rule::FailureRecordedAsDone,
    ),
    ("cannot-destroy-twice", "toy_box", Rule::DeleteOfAbsentFails),
    (
        "drops-private-state-in-an-update",
        "toy_box",
        Rule::ApplyLosesPrivate,
    ),
    (
        "drops-the-identity-in-an-apply",
        "toy_box",
        Rule::ApplyLosesIdentity,
    ),
    ("stores-a-write-only-value", "toy_box", Rule::WriteOnlyLeaks),
    (
        "takes-a-lost-connection-for-a-lost-box",
        "toy_box",
        Rule::ReadLosesObject,
    ),
    (
        "cannot-read-what-is-gone",
        "toy_box",
        Rule::ReadOfAbsentFails,
    ),
    ("reads-half-of-it", "toy_box", Rule::ReadDrifts),
    (
        "reads-half-of-what-is-imported",
        "toy_box",
        Rule::ImportIncomplete,
    ),
    (
        "drops-private-state-in-a-read",
        "toy_box",
        Rule::ReadLosesPrivate,
    ),
    (
        "drops-the-identity-in-a-read",
        "toy_box",
        Rule::ReadLosesIdentity,
    ),
    ("upgrades-what-is-new", "toy_box", Rule::UpgradeChangesState),
    (
        "refuses-what-it-does-not-know",
        "toy_box",
        Rule::UpgradeRefusesState,
    ),
    // Every answer, and the process.
    ("switches-checks-off", "toy_box", Rule::LegacyTypeSystem),
    (
        "switches-checks-off-in-an-apply",
        "toy_box",
        Rule::LegacyTypeSystem,
    ),
    ("puts-off", "toy_box", Rule::Deferred),
    ("panics", "toy_box", Rule::Panicked),
    ("dies", "toy_box", Rule::CallBrokeOff),
    ("points-nowhere", "toy_box", Rule::DiagnosticPathMissing),
    ("tells-a-secret", "toy_box", Rule::SecretTold),
    ("logs-a-secret", "the process", Rule::SecretTold),
    (
        "prints-before-the-handshake",
        "the process",
        Rule::NoHandshake,
    ),
    ("prints-while-it-plans", "the process", Rule::OutputUsed),
    ("ends-with-a-failure", "the process", Rule::EndsBadly),
    ("refuses-what-is-not-known", "toy_box", Rule::UnknownRefused),
    (
        "judges-with-its-settings",
        "the process",
        Rule::NeedsConfiguration,
    ),
    (
        "needs-all-settings",
        "the process",
        Rule::UnknownSettingRefused,
    ),
    ("takes-a-reserved-name", "the process", Rule::SchemaUnsound),
    (
        "has-an-attribute-that-nobody-gives",
        "the process",
        Rule::SchemaUnsound,
    ),
    ("lists-less", "the process", Rule::RegistryDisagrees),
    // What is no managed object.
    (
        "answers-another-question",
        "toy_count",
        Rule::AnswerDiffersFromConfig,
    ),
    (
        "answers-with-what-is-not-known",
        "toy_count",
        Rule::AnswerNotKnown,
    ),
    (
        "opens-something-else",
        "toy_key",
        Rule::AnswerDiffersFromConfig,
    ),
    ("cannot-close-twice", "toy_key", Rule::CloseNotRepeatable),
    (
        "computes-something-else-each-time",
        "label",
        Rule::FunctionNotRepeatable,
    ),
    (
        "blames-an-argument-that-is-not-there",
        "label",
        Rule::FunctionErrorMisplaced,
    ),
];

/// Enough cases for each fault to show. The run ends with the first one that does.
const CASES: u32 = 64;
/// The same for what shows when all cases are over, or when there is nothing to be found.
const FEW_CASES: u32 = 24;

async fn run(fault: &str, only: &str, cases: u32) -> Report {
    let folder = tempfile::tempdir().expect("a folder");
    let launch = Launch::new(env!("CARGO_BIN_EXE_tfplugin-faulty")).with("TFPLUGIN_FAULT", fault);
    let only = if only == "the process" {
        "toy_box"
    } else {
        only
    };
    let run = conformance(launch, &folder).cases(cases).only(only);
    run.minimum_share(0.0)
        .without_smaller_forms()
        .run()
        .await
        .expect(fault)
}

#[tokio::test]
async fn every_fault_is_found_by_its_rule() {
    let mut missed = Vec::new();
    for (fault, at, rule) in FAULTS {
        let cases = if *at == "the process" {
            FEW_CASES
        } else {
            CASES
        };
        let report = run(fault, at, cases).await;
        let first = report.failures.first();
        let found = first.map(|failure| (failure.name.as_str(), failure.finding.rule));
        if found != Some((at, *rule)) {
            missed.push(format!("{fault}: expected {rule:?} of {at}\n{report}"));
        }
    }
    assert!(missed.is_empty(), "{}", missed.join("\n\n"));
}

#[tokio::test]
async fn without_a_fault_nothing_is_found() {
    for none in ["", "fails-in-good-order", "fails-an-update-in-good-order"] {
        let report = run(none, "toy_box", FEW_CASES).await;
        assert!(report.is_sound(), "{none}: {report}");
    }
}

#[tokio::test]
async fn every_rule_about_answers_has_its_fault() {
    let shown: Vec<Rule> = FAULTS.iter().map(|(_, _, rule)| *rule).collect();
    let without: Vec<&Rule> = Rule::ALL
        .iter()
        .filter(|rule| !shown.contains(rule))
        .collect();
    // Too few cases are no fault of an answer; there is a test for them below.
    assert_eq!(without, [&Rule::TooFewCases]);
}

#[tokio::test]
async fn a_run_that_proves_nothing_is_no_success() {
    let folder = tempfile::tempdir().expect("a folder");
    let launch = Launch::new(env!("CARGO_BIN_EXE_tfplugin-toy"));
    let run = conformance(launch, &folder).cases(16).only("toy_box");
    // Names that are refused: nothing gets through.
    let report = run
        .hint("toy_box", "name", ["", "a/b"])
        .run()
        .await
        .expect("a toy");
    let rules: Vec<Rule> = report
        .failures
        .iter()
        .map(|failure| failure.finding.rule)
        .collect();
    assert_eq!(rules, [Rule::TooFewCases], "{report}");
}

#[tokio::test]
async fn a_failing_case_is_small_and_can_be_run_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let launch = || Launch::new(env!("CARGO_BIN_EXE_tfplugin-toy"));
    // The toy panics for this one.
    let cursed = |launch| {
        let run = conformance(launch, &folder).only("toy_box");
        run.hint("toy_box", "note", ["fine", "fine", "fine", "panic"])
            .minimum_share(0.0)
    };
    let report = cursed(launch()).run().await.expect("a toy");
    let failure = report.failures.first().expect("a failure");
    assert_eq!(failure.finding.rule, Rule::Panicked, "{report}");
    assert_eq!(
        failure.shown,
        r#"configured  {"name": "a", "note": "panic"}"#
    );
    let again = cursed(launch())
        .case(failure.case)
        .run()
        .await
        .expect("a toy");
    assert_eq!(
        again.failures.first().map(|failure| &failure.shown),
        Some(&failure.shown)
    );
    assert_eq!(again.tallies.first().map(|tally| tally.cases), Some(1));
}
