//! Calls with bytes instead of messages, for what no well-behaved host sends: damaged messages, damaged values.
//!
//! The messages' fields are written by hand here ([`field`]), because the generated types could not be wrong enough.

use tonic::codec::{BufferSettings, Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};
use tonic::{Request, Status};

use super::client::{Client, ClientError, LARGEST_MESSAGE};

impl Client {
    /// Calls any of the provider's RPCs, by its name, with any bytes; the answer's bytes come back.
    ///
    /// # Errors
    ///
    /// When the RPC itself fails. What the provider has to say about a request is in the answer, as diagnostics.
    pub async fn call_raw(&self, call: &str, request: Vec<u8>) -> Result<Vec<u8>, ClientError> {
        let path = format!("/tfplugin6.Provider/{call}");
        let path = path
            .parse()
            .map_err(|_| ClientError::Unknown(call.to_owned()))?;
        let mut grpc = tonic::client::Grpc::new(self.channel.clone())
            .max_decoding_message_size(LARGEST_MESSAGE)
            .max_encoding_message_size(LARGEST_MESSAGE);
        let ready = grpc.ready().await;
        ready.map_err(ClientError::Connect)?;
        let answer = grpc.unary(Request::new(request), path, RawBytes).await?;
        Ok(answer.into_inner())
    }
}

/// One field of a message whose content has a length: a text, bytes, or another message.
///
/// # Panics
///
/// Above field 15, which would be written otherwise.
pub fn field(number: u8, content: &[u8]) -> Vec<u8> {
    assert!(number < 16, "only one byte is written");
    let mut bytes = vec![(number << 3) | 2];
    let mut length = content.len();
    while length >= 0x80 {
        bytes.push(length as u8 | 0x80);
        length >>= 7;
    }
    bytes.push(length as u8);
    bytes.extend_from_slice(content);
    bytes
}

/// Passes bytes through.
#[derive(Clone, Copy)]
pub struct RawBytes;

impl Codec for RawBytes {
    type Encode = Vec<u8>;
    type Decode = Vec<u8>;
    type Encoder = RawBytes;
    type Decoder = RawBytes;

    fn encoder(&mut self) -> RawBytes {
        RawBytes
    }

    fn decoder(&mut self) -> RawBytes {
        RawBytes
    }
}

impl Encoder for RawBytes {
    type Item = Vec<u8>;
    type Error = Status;

    fn encode(&mut self, item: Vec<u8>, buffer: &mut EncodeBuf<'_>) -> Result<(), Status> {
        prost::bytes::BufMut::put_slice(buffer, &item);
        Ok(())
    }

    fn buffer_settings(&self) -> BufferSettings {
        BufferSettings::default()
    }
}

impl Decoder for RawBytes {
    type Item = Vec<u8>;
    type Error = Status;

    fn decode(&mut self, buffer: &mut DecodeBuf<'_>) -> Result<Option<Vec<u8>>, Status> {
        use prost::bytes::Buf;
        let mut bytes = vec![0; buffer.remaining()];
        buffer.copy_to_slice(&mut bytes);
        Ok(Some(bytes))
    }

    fn buffer_settings(&self) -> BufferSettings {
        BufferSettings::default()
    }
}
