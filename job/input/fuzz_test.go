package input_test

import (
	"crypto"
	"encoding/base64"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	"software.sslmate.com/src/go-pkcs12"

	"almanac/job"
	"almanac/job/input"
	"almanac/job/kind"
)

// seedJobs adds jobs that were sent to Azure Scheduler, and some of our own.
func seedJobs(f *testing.F, add func(body string)) {
	for _, session := range recorded(f) {
		for _, e := range session {
			if e.sent() && e.isJob() {
				add(string(e.Request))
			}
		}
	}
	for _, action := range secretive(f) {
		add(withAction(withErrorAction(action)))
	}
	add(stored)
	add(withAction(withErrorAction(`{"type":"Http","request":{"uri":"http://h/{{.Job.Name}}?{{if eq .Attempt 1}}a{{end}}","headers":{"X":"{{.Due}}"},"body":"{{date \"2006\" .Due}}","template":true}}`)))
	add(withRecurrence(`{"frequency":"Month","count":3,"endTime":"2030-01-01","timeZone":"Asia/Kathmandu","schedule":{"hours":1,"monthDays":[1,-1],"monthlyOccurrences":[{"day":"monday"}]},"catchUpWindow":"PT1H","overlapPolicy":"Skip"}`))
	add(`{"properties":{"startTime":"2026-01-01T00:00:00.99999999Z","action":{"type":"Http","request":{"uri":"http://h","headers":{}}}}}`)
}

// requireStable requires that an accepted definition is unchanged after parsing its own JSON, both the
// stored form and the wire form.
func requireStable(t *testing.T, d job.Definition) {
	t.Helper()
	require.NoError(t, input.ValidateDefinition(&d, input.ParseOptions{Now: now, Limits: roomy(), Stored: &d}))
	d.Local = nil // users do not write it
	text := compactJSON(t, d)
	var again job.Definition
	require.NoError(t, json.Unmarshal([]byte(text), &again))
	require.Equal(t, text, compactJSON(t, again))

	sent, err := input.ParseDefinition([]byte(text), input.ParseOptions{Now: now, Limits: roomy(), Stored: &d})
	require.NoError(t, err, text)
	require.Equal(t, text, compactJSON(t, sent))
	require.False(t, new(d.Redacted()).HasSecret())
}

func FuzzParseDefinition(f *testing.F) {
	seedJobs(f, func(body string) { f.Add([]byte(body)) })
	f.Fuzz(func(t *testing.T, body []byte) {
		d, err := input.ParseDefinition(body, input.ParseOptions{Now: now})
		if err != nil {
			complaints(t, err)
			return
		}
		requireStable(t, d)
	})
}

func FuzzMergeDefinition(f *testing.F) {
	seedJobs(f, func(body string) { f.Add([]byte(stored), []byte(body)) })
	f.Add([]byte(stored), []byte(`{"properties":{"action":{"type":"StorageQueue","request":null},"recurrence":{"schedule":null}}}`))
	f.Fuzz(func(t *testing.T, current, patch []byte) {
		o := input.ParseOptions{Now: now, ID: jobID}
		d, err := input.ParseDefinition(current, o)
		if err != nil {
			return
		}
		merged, err := input.MergeDefinition(d.Redacted(), patch, o)
		if err != nil {
			complaints(t, err)
			return
		}
		requireStable(t, merged)
		again, err := input.MergeDefinition(merged, patch, o)
		require.NoError(t, err)
		require.Equal(t, compactJSON(t, merged.Redacted()), compactJSON(t, again.Redacted()), "a patch that is applied twice")
	})
}

func FuzzParseCollection(f *testing.F) {
	for _, session := range recorded(f) {
		for _, e := range session {
			if e.sent() && !e.isJob() {
				f.Add([]byte(e.Request))
			}
		}
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		c, err := input.ParseCollection(body, nil)
		if job.KindOf(err) == job.KindConflict {
			return
		}
		if err != nil {
			complaints(t, err)
			return
		}
		again, err := input.ParseCollection([]byte(compactJSON(t, resource{c.Location, c.Tags, c.Properties})), roomy())
		require.NoError(t, err)
		require.Equal(t, c, again)
		patched, err := input.MergeCollection(c, []byte(`{}`), nil)
		require.NoError(t, err)
		require.Equal(t, c, patched)
	})
}

func FuzzCertificate(f *testing.F) {
	leaf := certify(f, named("host"), nil)
	for _, e := range []*pkcs12.Encoder{pkcs12.Modern2023, pkcs12.Modern2026, pkcs12.LegacyDES, pkcs12.LegacyRC2, pkcs12.Passwordless} {
		file, err := e.Encode(leaf.key, leaf.certificate, nil, "")
		require.NoError(f, err)
		f.Add(file, "")
	}
	f.Fuzz(func(t *testing.T, file []byte, password string) {
		auth := kind.Authentication{Type: kind.AuthClientCertificate, Pfx: base64.StdEncoding.EncodeToString(file), Password: password}
		c, err := auth.Certificate()
		if err != nil {
			return
		}
		require.Equal(t, c.Leaf.Raw, c.Certificate[0])
		require.Implements(t, new(crypto.Signer), c.PrivateKey)
	})
}

func FuzzParsePreview(f *testing.F) {
	f.Add([]byte(`{"id":"a","now":"2026-01-01","take":3,"properties":{"startTime":"2025-01-31","recurrence":{"frequency":"month"}}}`))
	f.Add([]byte(`{"id":-1.5e3,"startTime":"2026-01-31T00:00","recurrence":{"frequency":"day","schedule":{"minutes":[0,30]},"count":2}}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		p, err := input.ParsePreview(line, now)
		if err != nil {
			complaints(t, err)
			require.True(t, json.Valid([]byte(compactJSON(t, p.Failed(err)))))
			return
		}
		p.Take = min(p.Take, 20)
		r := p.Run()
		require.Nil(t, r.Error)
		require.LessOrEqual(t, len(r.Occurrences), p.Take)
		require.True(t, r.Done || len(r.Occurrences) == p.Take)
		for i, o := range r.Occurrences[min(1, len(r.Occurrences)):] {
			require.True(t, o.After(r.Occurrences[i]), "%v", r.Occurrences)
		}
	})
}
