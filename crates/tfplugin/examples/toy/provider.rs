//! The provider: one setting, which everything registered here shares. Functions alone do without it.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use tfplugin::{
    Attribute, Call, DataSource, Diagnostic, Diagnostics, EphemeralResource, Function, Provider,
    Resource, Schema, Value,
};

use crate::boxes::Boxes;
use crate::count::Count;
use crate::keys::Keys;
use crate::label::Label;

/// Where the boxes are. It is known once the provider has been configured, and even then it may not be known yet.
#[derive(Clone, Default)]
pub(crate) struct Folder(Arc<Mutex<Option<PathBuf>>>);

impl Folder {
    /// The folder, or why there is none. This is the first use, so this is where it may fail.
    pub(crate) fn path(&self) -> Result<PathBuf, Diagnostic> {
        let path = self
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        path.ok_or_else(|| {
            Diagnostic::error("The folder of the boxes is not known").detail(
                "The provider's `folder` was unknown, or the provider was never configured.",
            )
        })
    }

    fn set(&self, path: Option<PathBuf>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = path;
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
        Schema::new(0, "Keeps boxes in a folder.").attributes([Attribute::string("folder")
            .required()
            .describe("The folder, which has to exist.")])
    }

    fn validate(&self, config: &Value, diagnostics: &mut Diagnostics) {
        if config.attr("folder").as_str() == Some("") {
            diagnostics.push(Diagnostic::error("The folder has no name").at("folder"));
        }
    }

    async fn configure(&self, config: Value, _: &Call) -> Diagnostics {
        // It may be unknown while planning. That is no error before it is needed.
        self.folder
            .set(config.attr("folder").as_str().map(PathBuf::from));
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
