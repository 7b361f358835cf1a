//! The rules, each with its name, the accident it stands for, and one sentence.
//!
//! They are the host's own checks of a provider's answers, and beside them what the host cannot see and users suffer
//! from: plans that never come to rest, objects that are forgotten, secrets that are told. `walk.rs` and its neighbours
//! apply them.

/// Makes the enum and its table from one list.
macro_rules! rules {
    ($($rule:ident $name:literal $trap:literal $sentence:literal)*) => {
        /// A rule that a provider can break.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Rule {
            $(#[doc = $sentence] $rule,)*
        }

        impl Rule {
            /// All rules.
            pub const ALL: &[Rule] = &[$(Rule::$rule),*];

            /// What it is called in reports.
            pub fn name(self) -> &'static str {
                match self { $(Rule::$rule => $name,)* }
            }

            /// The number of the accident in the list of those that have happened to providers; 0 when there is none.
            pub fn trap(self) -> u8 {
                match self { $(Rule::$rule => $trap,)* }
            }

            /// What it demands.
            pub fn sentence(self) -> &'static str {
                match self { $(Rule::$rule => $sentence,)* }
            }
        }
    };
}

rules! {
    // Of every answer.
    CallBrokeOff "call-broke-off" 28
        "Every call is answered; what went wrong is a diagnostic, never a failed call or a dead process."
    Panicked "panicked" 28
        "No handler panics, whatever it is given."
    DoesNotFit "does-not-fit-the-schema" 7
        "A value has exactly the attributes of the schema, each of its type."
    WriteOnlyLeaks "write-only-leaks" 26
        "Write-only attributes are null in everything that is planned, stored or read."
    SecretTold "secret-told" 27
        "Diagnostics and logs hold no value of a sensitive or write-only attribute."
    DiagnosticPathMissing "diagnostic-path-missing" 38
        "A diagnostic points at an attribute that the schema has, and not into a set."
    LegacyTypeSystem "legacy-type-system" 39
        "No answer asks the host to switch its checks off."
    Deferred "deferred-not-allowed" 40
        "No answer is put off, as long as the host has not allowed it."

    // Of the process and what it registers.
    NoHandshake "no-handshake" 29
        "The first line on standard output is the handshake."
    OutputUsed "standard-output-used" 29
        "Nothing but the handshake is written to standard output."
    EndsBadly "ends-badly" 31
        "The process ends by itself and with success when it is told to."
    SchemaUnsound "schema-unsound" 35
        "The schema has no fault that the host refuses or lets fail in users' hands."
    RegistryDisagrees "registry-disagrees" 22
        "Every call that lists what is registered lists the same."
    UnknownSettingRefused "unknown-setting-refused" 21
        "A provider block that is not known yet is accepted; what needs it fails later."
    NeedsConfiguration "needs-configuration" 22
        "Validation and functions answer alike before the provider is configured."
    TooFewCases "too-few-cases" 0
        "Enough generated cases get through validation, plan and apply to prove anything."

    // Of validation.
    UnknownRefused "unknown-refused" 21
        "A configuration that is valid is so too while parts of it are not known."

    // Of a plan.
    PlannedWithoutComputed "planned-without-computed" 1
        "What the configuration leaves out and is not computed is planned as null."
    PlanDiffersFromConfig "plan-differs-from-config" 2
        "A planned value is spelled as configured, or as it was before."
    PlanReordersList "plan-reorders-a-list" 3
        "A list has the configuration's order."
    PlanConfusesNullAndEmpty "plan-confuses-null-and-empty" 6
        "What is null in the configuration is not empty in the plan, and the other way round."
    PlanChangesNumber "plan-changes-a-number" 8
        "A number is passed on exactly."
    PlanLosesObject "plan-loses-the-object" 20
        "The plan of an object that stays is not null."
    DestroyPlanned "destroy-plan-is-not-null" 20
        "The plan of a destruction is null, and does not fail."
    PlanNotRepeatable "plan-not-repeatable" 44
        "The same plan asked for twice is the same."
    InconsistentFinalPlan "inconsistent-final-plan" 44
        "What was planned as known, and whether anything changes, stays so when the rest becomes known."
    ReplacesWithoutChange "replaces-without-change" 19
        "What is named as the reason of a replacement has changed."
    ReplacesAtCreate "replaces-at-create" 19
        "A creation or a destruction replaces nothing."
    ReplacePathMissing "replace-path-missing" 19
        "What is named as the reason of a replacement exists, and is not in a set."
    ReplacementPlanFails "replacement-plan-fails" 20
        "A replacement can be planned a second time, without a prior state."
    UnknownWithoutChange "unknown-without-change" 5
        "An object that is as configured has a plan without unknown values."
    NeverSettles "never-settles" 2
        "An object that is as configured has an empty plan."
    PlanLosesPrivate "plan-loses-private-state" 24
        "A plan passes on what was noted before."
    PlanLosesIdentity "plan-loses-identity" 25
        "A plan passes on the object's identity, unchanged."

    // Of an apply.
    ResultDiffersFromPlan "result-differs-from-plan" 4
        "What was planned as known is in the state as it was planned."
    UnknownAfterApply "unknown-after-apply" 4
        "Nothing in a state is unknown."
    StateMissing "state-missing" 14
        "What exists after an apply without errors has a state."
    StateLeft "state-left-behind" 16
        "What was destroyed without errors has no state."
    ForgottenAfterFailure "forgotten-after-failure" 14
        "What a failed creation has made is in the state."
    FailureRecordedAsDone "failure-recorded-as-done" 15
        "After a failed update there is still something planned."
    ApplyLosesPrivate "apply-loses-private-state" 24
        "An update keeps something noted."
    ApplyLosesIdentity "apply-loses-identity" 25
        "Every state has an identity, which never changes."
    DeleteOfAbsentFails "delete-of-absent-fails" 16
        "Destroying what is gone succeeds."

    // Of a read.
    ReadOfAbsentFails "read-of-absent-fails" 16
        "Reading what is gone says so without an error."
    ReadLosesObject "read-loses-the-object" 17
        "What was just made is found."
    ReadDrifts "read-drifts" 18
        "What was just applied is read as it was, with every attribute."
    ReadLosesPrivate "read-loses-private-state" 24
        "A read passes on what was noted before."
    ReadLosesIdentity "read-loses-identity" 25
        "A read passes on the object's identity, unchanged."
    UpgradeChangesState "upgrade-changes-the-state" 12
        "A state of the present schema version is read as it was stored."
    UpgradeRefusesState "upgrade-refuses-the-state" 12
        "A state of the present version is read, too, when an attribute has come or gone since."
    ImportIncomplete "import-incomplete" 18
        "What is imported and then read has every attribute."

    // Of data sources, ephemeral resources and functions.
    AnswerDiffersFromConfig "answer-differs-from-config" 42
        "An answer repeats what was configured."
    AnswerNotKnown "answer-not-known" 42
        "An answer without errors is there, and wholly known."
    CloseNotRepeatable "close-not-repeatable" 43
        "What is opened can be renewed as announced, and closed twice."
    FunctionNotRepeatable "function-not-repeatable" 41
        "A function answers alike when it is asked alike."
    FunctionErrorMisplaced "function-error-misplaced" 41
        "A function's error has a text, and names an argument that there is."
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_has_a_name_of_its_own_and_a_sentence() {
        let mut names: Vec<&str> = Rule::ALL.iter().map(|rule| rule.name()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), Rule::ALL.len());
        for rule in Rule::ALL {
            assert!(rule.sentence().ends_with('.'), "{rule:?}");
            assert!(rule.trap() <= 45, "{rule:?}");
        }
    }
}
