//! The provider: one setting, which everything registered here shares. Functions alone do without it.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use tfplugin::{
    Attribute, Call, DataSource, Diagnostic, Diagnostics, EphemeralResource, Function, Provider,
    Resource, Schema, Value, parse_duration, validate_duration,
};

use crate::boxes::Boxes;
use crate::count::Count;
use crate::keys::Keys;
use crate::label::Label;

/// Where the boxes are. It is known once the provider has been configured, and even then it may not be known yet.
#[derive(Clone, Default)]
pub(crate) struct Folder(Arc<Mutex<Settings>>);

#[derive(Clone, Default)]
struct Settings {
    path: Option<PathBuf>,
    /// How long the way to the folder is.
    way: Duration,
}

impl Folder {
    /// The folder, or why there is none. This is the first use, so this is where it may fail.
    pub(crate) fn path(&self) -> Result<PathBuf, Diagnostic> {
        self.settings().path.ok_or_else(|| {
            Diagnostic::error("The folder of the boxes is not known").detail(
                "The provider's `folder` was unknown, or the provider was never configured.",
            )
        })
    }

    /// Goes there. On the way nothing has been done yet, so it can be broken off anywhere.
    pub(crate) async fn reach(&self, call: &Call) -> Result<(), Diagnostic> {
        tokio::select! {
            () = tokio::time::sleep(self.settings().way) => Ok(()),
            () = call.until_stopped() => {
                Err(Diagnostic::error("The way to the folder was broken off"))
            }
        }
    }

    fn settings(&self) -> Settings {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    fn set(&self, settings: Settings) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = settings;
    }
}

/// The provider.
#[derive(Default)]
pub(crate) struct Toy {
    folder: Folder,
}

#[async_trait]
impl Provider for Toy {
    fn schema(&self) -> Schema {
        Schema::new(0, "Keeps boxes in a folder.").attributes([
            Attribute::string("folder")
                .required()
                .describe("The folder, which has to exist."),
            Attribute::string("way")
                .optional()
                .validate(validate_duration)
                .describe("How long it takes to get there, such as `100ms`."),
        ])
    }

    fn validate(&self, config: &Value, diagnostics: &mut Diagnostics) {
        if config.attr("folder").as_str() == Some("") {
            diagnostics.push(Diagnostic::error("The folder has no name").at("folder"));
        }
    }

    async fn configure(&self, config: Value, _: &Call) -> Diagnostics {
        // It may be unknown while planning. That is no error before it is needed.
        let way = config.attr("way").as_str();
        self.folder.set(Settings {
            path: config.attr("folder").as_str().map(PathBuf::from),
            way: way
                .and_then(|text| parse_duration(text).ok())
                .unwrap_or_default(),
        });
        Diagnostics::new()
    }

    fn resources(&self) -> Vec<(&'static str, Arc<dyn Resource>)> {
        vec![("toy_box", Arc::new(Boxes::new(self.folder.clone())))]
    }

    fn data_sources(&self) -> Vec<(&'static str, Arc<dyn DataSource>)> {
        vec![("toy_count", Arc::new(Count::new(self.folder.clone())))]
    }

    fn ephemeral_resources(&self) -> Vec<(&'static str, Arc<dyn EphemeralResource>)> {
        vec![("toy_key", Arc::new(Keys::new(self.folder.clone())))]
    }

    fn functions(&self) -> Vec<(&'static str, Arc<dyn Function>)> {
        vec![("label", Arc::new(Label))]
    }
}
