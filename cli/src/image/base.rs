//! The install image that a seed is written into: a file as it was downloaded, compressed or not, read from front to back.
//!
//! Before: a path. After: `copy.rs` reads it, once to write and once more to compare. Nothing of it is kept (HO-SEED-05),
//! and no more than some buffers of it are in memory at a time (HO-SEED-31).

use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::path::{Path, PathBuf};

use flate2::bufread::MultiGzDecoder;

use super::gpt::{self, GptError, HEAD, Layout};

const GZIP: &[u8] = b"\x1f\x8b";
/// The unpacker asks for its input in pieces of this size.
const INPUT: usize = 1 << 20;
/// What may follow the end that an image's table tells, in bytes: padding, and nothing that fills a disk.
pub(crate) const SLACK: u64 = 16 << 20;

/// An image with a place for a seed.
#[derive(Debug)]
pub(crate) struct Base {
    path: PathBuf,
    file: File,
    is_packed: bool,
    /// What its table says.
    pub(crate) layout: Layout,
    /// Its bytes, if they are known without unpacking it.
    pub(crate) size: Option<u64>,
}

/// Why an image is not used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BaseError {
    #[error("Opening the image {path} failed")]
    Open {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("{path} is not a file")]
    NotAFile { path: PathBuf },
    #[error("Reading the image {path} failed; it may be damaged, or its download incomplete")]
    Read {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    // The table's words end the sentence, so they are no cause to be told behind it.
    #[error("The image {path} {wrong}")]
    Table { path: PathBuf, wrong: GptError },
    #[error(
        "The image {path} has {size} bytes, and its partition table says at least {expected}: it is incomplete. Download it \
         again"
    )]
    Cut {
        path: PathBuf,
        size: u64,
        expected: u64,
    },
    #[error(
        "The image {path} unpacks to more than {most} bytes, and its partition table says {expected}: it is no image of IncusOS"
    )]
    Endless {
        path: PathBuf,
        most: u64,
        expected: u64,
    },
}

impl Base {
    /// Opens an image and finds the place for its seed.
    pub(crate) fn open(path: &Path) -> Result<Self, BaseError> {
        let failed = |source| BaseError::Open {
            path: path.to_owned(),
            source,
        };
        let file = File::open(path).map_err(failed)?;
        let metadata = file.metadata().map_err(failed)?;
        if !metadata.is_file() {
            let path = path.to_owned();
            return Err(BaseError::NotAFile { path });
        }
        let (is_packed, reader) = unpacking(&file).map_err(failed)?;
        let mut head = Vec::new();
        let read = reader.take(HEAD as u64).read_to_end(&mut head);
        read.map_err(|source| BaseError::Read {
            path: path.to_owned(),
            source,
        })?;
        let layout = gpt::read(&head).map_err(|wrong| BaseError::Table {
            path: path.to_owned(),
            wrong,
        })?;
        let base = Self {
            path: path.to_owned(),
            file,
            is_packed,
            layout,
            size: (!is_packed).then_some(metadata.len()),
        };
        base.size.map_or(Ok(()), |size| base.check(size))?;
        Ok(base)
    }

    /// The image from its first byte on, unpacked.
    pub(crate) fn reader(&self) -> Result<Box<dyn Read + Send + '_>, BaseError> {
        match unpacking(&self.file) {
            Ok((_, reader)) => Ok(reader),
            Err(source) => Err(self.failed(source)),
        }
    }

    /// The file itself, if its bytes are those of the image.
    pub(crate) fn plain(&self) -> Option<&File> {
        (!self.is_packed).then_some(&self.file)
    }

    /// Says whether an image of this size is the whole one.
    pub(crate) fn check(&self, size: u64) -> Result<(), BaseError> {
        let expected = self.layout.image_size;
        if size >= expected {
            return Ok(());
        }
        Err(BaseError::Cut {
            path: self.path.clone(),
            size,
            expected,
        })
    }

    /// Stops a packed image that unpacks to much more than an image. The size of another one is known before.
    pub(crate) fn limit(&self, reached: u64) -> Result<(), BaseError> {
        let expected = self.layout.image_size;
        let most = expected.saturating_add(SLACK);
        if !self.is_packed || reached <= most {
            return Ok(());
        }
        Err(BaseError::Endless {
            path: self.path.clone(),
            most,
            expected,
        })
    }

    /// What a failure to read it is told as.
    pub(crate) fn failed(&self, source: io::Error) -> BaseError {
        BaseError::Read {
            path: self.path.clone(),
            source,
        }
    }
}

/// The bytes of an image from the first one on, unpacked if they look packed, and whether they do.
fn unpacking(file: &File) -> io::Result<(bool, Box<dyn Read + Send + '_>)> {
    use std::io::Seek;
    let mut file = file;
    file.rewind()?;
    let mut reader = BufReader::with_capacity(INPUT, file);
    if reader.fill_buf()?.starts_with(GZIP) {
        return Ok((true, Box::new(MultiGzDecoder::new(reader))));
    }
    // What is not packed is read in the large pieces that the buffer would only copy.
    let beginning = reader.buffer().to_vec();
    Ok((false, Box::new(Cursor::new(beginning).chain(file))))
}

#[cfg(test)]
pub(crate) mod tests {
    use std::fs;
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::super::gpt::tests::{head, usual};
    use super::*;

    /// What an image of IncusOS has in the tests, nearly all of it holes.
    pub(crate) const SIZE: u64 = (2049 + 100 + 3) << 20;
    /// What a small one has: some buffers, and an end that is not at one's end.
    pub(crate) const SMALL: Layout = Layout {
        seed_start: (9 << 20) - 7,
        seed_size: 1 << 20,
        image_size: (21 << 20) + 512,
    };

    /// An image with a table and nothing else.
    pub(crate) fn image(path: &Path) {
        fs::write(path, usual(512, SIZE)).expect("a file");
        let file = File::options().write(true).open(path).expect("a file");
        file.set_len(SIZE).expect("a file");
    }

    /// Bytes as an image has them, only fewer: something before the place for the seed, an older seed in it, something
    /// behind it, and holes elsewhere.
    pub(crate) fn small_image(path: &Path) {
        use std::os::unix::fs::FileExt;
        let file = File::create(path).expect("a file");
        file.set_len(SMALL.image_size).expect("a file");
        for (at, bytes) in [
            (100, b"esp".repeat(99_999)),
            (
                SMALL.seed_start - 3,
                b"an older and longer seed".repeat(4096),
            ),
            (
                SMALL.seed_start + SMALL.seed_size,
                b"the signature".repeat(999),
            ),
            (SMALL.image_size - 512, vec![7; 512]),
        ] {
            file.write_all_at(&bytes, at).expect("a file");
        }
    }

    /// A small image, or one that is packed, taken as if its table had been read.
    pub(crate) fn small(path: &Path, is_packed: bool) -> Base {
        let file = File::open(path).expect("a file");
        let length = file.metadata().expect("a file").len();
        Base {
            path: path.to_owned(),
            file,
            is_packed,
            layout: SMALL,
            size: (!is_packed).then_some(length),
        }
    }

    /// The same, packed as downloads are.
    pub(crate) fn pack(image: &Path, packed: &Path) {
        let file = File::create(packed).expect("a file");
        let mut encoder = GzEncoder::new(file, Compression::fast());
        let mut image = File::open(image).expect("an image");
        io::copy(&mut image, &mut encoder).expect("packed");
        encoder.finish().expect("packed").flush().expect("packed");
    }

    #[test]
    fn what_is_no_whole_image_is_refused_by_name() {
        let home = tempfile::tempdir().expect("a folder");
        let path = home.path().join("IncusOS.img");
        let mut gz = GzEncoder::new(Vec::new(), Compression::fast());
        gz.write_all(&usual(512, SIZE)).expect("packed");
        let gz = gz.finish().expect("packed");
        for (bytes, parts) in [
            (b"hello".to_vec(), ["no GPT partition table", "IncusOS.img"]),
            (
                head(512, "home", 1 << 20, 1 << 20, SIZE),
                [
                    "partition 2 is named \"home\"",
                    "1048576 bytes at byte 1048576",
                ],
            ),
            (usual(2048, SIZE), ["has 1048576 bytes", "incomplete"]),
            (
                gz[..gz.len() / 2].to_vec(),
                ["download incomplete", "IncusOS.img"],
            ),
        ] {
            fs::write(&path, bytes).expect("a file");
            let told = Base::open(&path).expect_err(parts[0]).to_string();
            assert!(parts.iter().all(|part| told.contains(part)), "{told}");
        }
        let refused = Base::open(home.path()).expect_err("a folder");
        assert!(refused.to_string().contains("is not a file"), "{refused}");
        let refused = Base::open(&home.path().join("none")).expect_err("nothing");
        assert!(refused.to_string().contains("none failed"), "{refused}");
    }

    #[test]
    fn the_size_is_known_of_what_is_not_packed() {
        let home = tempfile::tempdir().expect("a folder");
        let path = home.path().join("IncusOS.img");
        image(&path);
        let base = Base::open(&path).expect("an image");
        assert_eq!((base.size, base.layout.image_size), (Some(SIZE), SIZE));
        assert!(base.plain().is_some());
        let mut gz = GzEncoder::new(Vec::new(), Compression::fast());
        gz.write_all(&usual(2048, SIZE)).expect("packed");
        fs::write(&path, gz.finish().expect("packed")).expect("a file");
        let base = Base::open(&path).expect("its beginning is an image's");
        assert_eq!((base.size, base.layout.image_size), (None, SIZE));
        assert!(base.plain().is_none());
        assert!(base.check(SIZE - 1).is_err() && base.check(SIZE).is_ok());
    }
}
