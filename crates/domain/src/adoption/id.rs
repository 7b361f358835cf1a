//! The id of an import: `web`, or `web=web-1,web-2` for instances that were made by hand.
//!
//! Before: what the user typed. After: `adoption::look`. Not here: whether any of it exists.

use crate::name;

/// What is to be imported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Id {
    /// The app.
    pub app: String,
    /// The instances that it takes over, in order; none if the app is ours already.
    pub adopts: Vec<String>,
}

/// Why a text is no id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoId {
    /// The app has no valid name.
    #[error(
        "The name of the app, {0:?}, {1}. Expected the name of an app, or NAME=INSTANCE,INSTANCE,…"
    )]
    App(String, #[source] name::Error),
    /// One of the instances has no valid name.
    #[error(
        "The name of the instance, {0:?}, {1}. Expected NAME=INSTANCE,INSTANCE,… with the names of Incus instances"
    )]
    Instance(String, #[source] name::Error),
}

/// Reads the id of an import.
///
/// # Errors
/// The first part that is no name.
pub fn parse(text: &str) -> Result<Id, NoId> {
    let (app, instances) = match text.split_once('=') {
        Some((app, instances)) => (app, Some(instances)),
        None => (text, None),
    };
    name::check_name(app).map_err(|error| NoId::App(app.to_owned(), error))?;
    let named = instances.into_iter().flat_map(|list| list.split(','));
    let adopts = named
        .map(|instance| check(instance.trim()))
        .collect::<Result<_, _>>()?;
    Ok(Id {
        app: app.to_owned(),
        adopts,
    })
}

/// Incus also allows capitals, which no name of ours has.
fn check(instance: &str) -> Result<String, NoId> {
    match name::check_label(&instance.to_lowercase()) {
        Ok(()) => Ok(instance.to_owned()),
        Err(error) => Err(NoId::Instance(instance.to_owned(), error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_names_an_app_and_perhaps_instances() {
        for (text, app, adopts) in [
            ("web", "web", &[][..]),
            ("web=web-1", "web", &["web-1"][..]),
            ("web=web-2, Web-1", "web", &["web-2", "Web-1"][..]),
        ] {
            let id = parse(text).expect(text);
            assert_eq!(
                (id.app.as_str(), id.adopts),
                (app, adopts.iter().map(|name| (*name).to_owned()).collect())
            );
        }
    }

    #[test]
    fn what_is_no_id_is_refused_with_what_was_expected() {
        for (text, part) in [
            ("", "the app, \"\", is empty"),
            ("Web=web-1", "contains 'W'"),
            ("web=", "the instance, \"\", is empty"),
            ("web=web-1,,web-2", "the instance, \"\", is empty"),
            ("web=a/b", "contains '/'"),
            ("web=a=b", "contains '='"),
        ] {
            let told = parse(text).expect_err(text).to_string();
            assert!(
                told.contains(part) && told.contains("NAME=INSTANCE"),
                "{told}"
            );
        }
    }
}
