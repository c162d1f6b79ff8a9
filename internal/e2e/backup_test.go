package e2e_test

import (
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
)

// A backup is made while a hundred jobs fire. The restored node has all of them, with histories that can be read, and
// what it sends again has the execution ids of the first node.
func TestABackupLosesNoJobAlthoughTheyFireMeanwhile(t *testing.T) {
	t.Parallel()
	const jobs = 100
	target, data := newSink(t, nil), t.TempDir()
	p := dev(t, data)
	first := time.Now().UTC().Add(8 * time.Second).Truncate(time.Second)
	create := func(i int) error {
		due := first.Add(time.Duration(i) * 100 * time.Millisecond).Truncate(time.Second)
		path := fmt.Sprintf("/%03d", i)
		r, err := tryCall(t.Context(), http.MethodPut, p.url+"/jobCollections/default/jobs"+path, get(target.URL+path, `,"startTime":"`+due.Format(time.RFC3339)+`"`))
		if err == nil && r.code != http.StatusCreated {
			err = fmt.Errorf("%d: %s", r.code, r.body)
		}
		return err
	}
	var all errgroup.Group
	all.SetLimit(8)
	for i := range jobs {
		all.Go(func() error { return create(i) })
	}
	require.NoError(t, all.Wait())

	target.await(t, "/010", 1)
	file := filepath.Join(t.TempDir(), "backup.db")
	out, err := exec.CommandContext(t.Context(), program(t), "backup", "--data", data, file).CombinedOutput()
	require.NoError(t, err, "%s", out)
	for i := range jobs {
		target.await(t, fmt.Sprintf("/%03d", i), 1)
	}
	p.kill(t)

	restored := filepath.Join(t.TempDir(), "new")
	out, err = exec.CommandContext(t.Context(), program(t), "restore", "--data", restored, file).CombinedOutput()
	require.NoError(t, err, "%s", out)
	p = dev(t, restored)
	for i := range jobs {
		path := fmt.Sprintf("/%03d", i)
		url := p.url + "/jobCollections/default/jobs" + path
		status(t, url, "properties.state", "completed")
		history := call(t, http.MethodGet, url+"/history", "")
		require.Equal(t, http.StatusOK, history.code, history.body)
		require.Positive(t, history.count("value"), history.body)
		sent := target.got(path)
		for _, again := range sent {
			require.Equal(t, sent[0].key, again.key)
		}
	}
	refused, err := exec.CommandContext(t.Context(), program(t), "restore", "--data", restored, file).CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(refused), "in use")
}

// inAYear is a start time.
func inAYear() string {
	return `,"startTime":"` + time.Now().UTC().AddDate(1, 0, 0).Format(time.RFC3339) + `"`
}
