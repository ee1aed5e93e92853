package control

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
)

// magic begins every connection, so that a client that has reached another program can report
// that.
const magic = "gpk-dist\x00\x00\x00\x01"

const nonceBytes = 32

var (
	errStranger = errors.New("the peer does not know the token of this job")
	errForeign  = errors.New("the program at that address is not a rank of gpk")
)

// In the handshake the server sends magic and a nonce. The client sends magic, its own nonce
// and HMAC(token, "client", both nonces). The server sends HMAC(token, "server", both nonces).
// The token itself is never sent.

func proof(token []byte, who string, server, client []byte) []byte {
	m := hmac.New(sha256.New, token)
	m.Write([]byte(who))
	m.Write(server)
	m.Write(client)
	return m.Sum(nil)
}

func nonce() []byte {
	b := make([]byte, nonceBytes)
	_, _ = rand.Read(b) // never returns an error (Go 1.24)
	return b
}

// accept is the server's side of the handshake.
func accept(c io.ReadWriter, token []byte) error {
	own := nonce()
	if _, err := c.Write(append([]byte(magic), own...)); err != nil {
		return err
	}
	var answer [len(magic) + nonceBytes + sha256.Size]byte
	if _, err := io.ReadFull(c, answer[:]); err != nil {
		return err
	}
	theirs, sum := answer[len(magic):][:nonceBytes], answer[len(magic)+nonceBytes:]
	if string(answer[:len(magic)]) != magic {
		return errForeign
	}
	if !hmac.Equal(sum, proof(token, "client", own, theirs)) {
		return errStranger
	}
	_, err := c.Write(proof(token, "server", own, theirs))
	return err
}

// introduce is the client's side of the handshake.
func introduce(c io.ReadWriter, token []byte) error {
	var greeting [len(magic) + nonceBytes]byte
	if _, err := io.ReadFull(c, greeting[:]); err != nil {
		return fmt.Errorf("%w: %w", errForeign, err)
	}
	if string(greeting[:len(magic)]) != magic {
		return errForeign
	}
	theirs, own := greeting[len(magic):], nonce()
	answer := append([]byte(magic), own...)
	if _, err := c.Write(append(answer, proof(token, "client", theirs, own)...)); err != nil {
		return err
	}
	var sum [sha256.Size]byte
	if _, err := io.ReadFull(c, sum[:]); err != nil {
		return fmt.Errorf("%w: %w", errStranger, err)
	}
	if !hmac.Equal(sum[:], proof(token, "server", theirs, own)) {
		return errStranger
	}
	return nil
}
