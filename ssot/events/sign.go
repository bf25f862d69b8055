package events

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// SignatureHeader is the header that carries the signature of a webhook.
const SignatureHeader = "Arbiter-Signature"

// Sign is the signature of a body at a time: t=UNIX,v1=HEX, where HEX is the HMAC-SHA-256 of "UNIX.BODY" under the secret.
func Sign(secret, body []byte, at time.Time) string {
	stamp := strconv.FormatInt(at.Unix(), 10)
	return "t=" + stamp + ",v1=" + hex.EncodeToString(mac(secret, stamp, body))
}

func mac(secret []byte, stamp string, body []byte) []byte {
	h := hmac.New(sha256.New, secret)
	h.Write([]byte(stamp + "."))
	h.Write(body)
	return h.Sum(nil)
}

// ErrSignature says that a body does not come from who has the secret, or was sent at another time.
var ErrSignature = errors.New("the signature does not fit")

// Verify checks a signature as a receiver: [ErrSignature] when it does not fit the body, or is older or newer than tolerance.
func Verify(secret []byte, header string, body []byte, now time.Time, tolerance time.Duration) error {
	stamp, sum := "", ""
	for part := range strings.SplitSeq(header, ",") {
		switch k, v, _ := strings.Cut(strings.TrimSpace(part), "="); k {
		case "t":
			stamp = v
		case "v1":
			sum = v
		}
	}
	unix, err := strconv.ParseInt(stamp, 10, 64)
	got, hexErr := hex.DecodeString(sum)
	if err != nil || hexErr != nil || !hmac.Equal(got, mac(secret, stamp, body)) {
		return ErrSignature
	}
	if age := now.Sub(time.Unix(unix, 0)); age > tolerance || age < -tolerance {
		return fmt.Errorf("%w: it was made %v ago", ErrSignature, age.Round(time.Second))
	}
	return nil
}
