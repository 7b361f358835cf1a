//! The data source: how many boxes there are.

use async_trait::async_trait;
use tfplugin::{Attribute, Call, DataSource, Diagnostic, Diagnostics, Schema, Value};

use crate::provider::Folder;

/// How many boxes there are.
pub(crate) struct Count {
    folder: Folder,
}

impl Count {
    /// Counts in this folder.
    pub(crate) fn new(folder: Folder) -> Count {
        Count { folder }
    }
}

#[async_trait]
impl DataSource for Count {
    fn schema(&self) -> Schema {
        Schema::new(0, "Counts boxes.").attributes([
            Attribute::string("prefix")
                .optional()
                .describe("Counts only boxes whose names begin with it."),
            Attribute::number("count_of_boxes")
                .computed()
                .describe("How many there are."),
        ])
    }

    async fn read(&self, config: Value, call: &Call) -> (Value, Diagnostics) {
        if let Err(diagnostic) = self.folder.reach(call).await {
            return (Value::Null, diagnostic.into());
        }
        let prefix = config.attr("prefix").as_str().unwrap_or_default();
        let counted = self.folder.path().and_then(|folder| {
            let entries = std::fs::read_dir(folder).map_err(|error| {
                Diagnostic::error("The folder of the boxes cannot be read")
                    .detail(error.to_string())
            })?;
            let names = entries.flatten().map(|entry| entry.file_name());
            Ok(names
                .map(|name| name.to_string_lossy().into_owned())
                // Keys hang there too, under names that begin with a point.
                .filter(|name| name.starts_with(prefix) && !name.starts_with('.'))
                .count() as u64)
        });
        match counted {
            Ok(count) => {
                let mut answer = config;
                answer.set_attr("count_of_boxes", count);
                (answer, Diagnostics::new())
            }
            Err(diagnostic) => (Value::Null, diagnostic.into()),
        }
    }
}
