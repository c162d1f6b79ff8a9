package job

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
)

// Digest returns a digest of what users write of a job, without its secrets and its state. How they wrote its times is no
// part of it, nor is its owner. Whoever has a definition can tell by it whether a job has the same. It is "" if there is none.
func (d *Definition) Digest() string {
	written := d.Redacted()
	written.State, written.Local, written.Owner = "", nil, ""
	text, err := json.Marshal(written) //workflowcheck:ignore // it always writes the same definition alike
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(text)
	return base64.RawURLEncoding.EncodeToString(sum[:16])
}
