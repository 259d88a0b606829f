package expedition

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"errors"
	"fmt"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"google.golang.org/protobuf/proto"
)

// KeySize is the length of a payload key in bytes.
const KeySize = 32

const (
	encodingKey = converter.MetadataEncoding
	encrypted   = "binary/aes-gcm"
)

// Encrypt makes a Temporal client keep everything of ours that passes through the server, arguments, results and the
// texts of errors, encrypted by AES-256-GCM: commands carry dice that only game masters may see. All clients and workers
// of a task queue need the same key, of KeySize bytes.
func Encrypt(opts *client.Options, key []byte) error {
	c, err := newCodec(key)
	if err != nil {
		return err
	}
	opts.DataConverter = converter.NewCodecDataConverter(converter.GetDefaultDataConverter(), c)
	opts.FailureConverter = temporal.NewDefaultFailureConverter(temporal.DefaultFailureConverterOptions{
		DataConverter: opts.DataConverter, EncodeCommonAttributes: true,
	})
	return nil
}

type codec struct{ aead cipher.AEAD }

func newCodec(key []byte) (codec, error) {
	if len(key) != KeySize {
		return codec{}, fmt.Errorf("a payload key has %d bytes, not %d", KeySize, len(key))
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return codec{}, err
	}
	aead, err := cipher.NewGCM(block)
	return codec{aead}, err
}

// Encode implements [converter.PayloadCodec].
func (c codec) Encode(in []*commonpb.Payload) ([]*commonpb.Payload, error) {
	out := make([]*commonpb.Payload, len(in))
	for i, p := range in {
		plain, err := proto.Marshal(p)
		if err != nil {
			return nil, err
		}
		nonce := make([]byte, c.aead.NonceSize(), c.aead.NonceSize()+len(plain)+c.aead.Overhead())
		if _, err := rand.Read(nonce); err != nil {
			return nil, err
		}
		out[i] = &commonpb.Payload{
			Metadata: map[string][]byte{encodingKey: []byte(encrypted)},
			Data:     c.aead.Seal(nonce, nonce, plain, nil),
		}
	}
	return out, nil
}

// Decode implements [converter.PayloadCodec]. What others wrote in the clear, such as Temporal itself, passes as it is.
func (c codec) Decode(in []*commonpb.Payload) ([]*commonpb.Payload, error) {
	out := make([]*commonpb.Payload, len(in))
	for i, p := range in {
		if string(p.GetMetadata()[encodingKey]) != encrypted {
			out[i] = p
			continue
		}
		if len(p.GetData()) < c.aead.NonceSize() {
			return nil, errors.New("an encrypted payload is too short")
		}
		nonce, sealed := p.GetData()[:c.aead.NonceSize()], p.GetData()[c.aead.NonceSize():]
		plain, err := c.aead.Open(nil, nonce, sealed, nil)
		if err != nil {
			return nil, fmt.Errorf("decrypt a payload: %w", err)
		}
		out[i] = &commonpb.Payload{}
		if err := proto.Unmarshal(plain, out[i]); err != nil {
			return nil, err
		}
	}
	return out, nil
}
