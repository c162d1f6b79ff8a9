package workload

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"almanac/lab/client"
	"almanac/lab/record"
	"almanac/lab/wait"
)

// pauseSelection pauses some jobs of a collection together, and ends that for each by itself.
func (w *Workload) pauseSelection(ctx, base context.Context, collection string) {
	var some []*Job
	for _, i := range w.perm(len(w.Promising)) {
		if j := w.Promising[i]; j.ID.Collection == collection && len(some) < 4 && j.TryLock() {
			some = append(some, j)
		}
	}
	defer func() {
		for _, j := range some {
			j.Unlock()
		}
	}()
	promise := w.newPromise(time.Minute)
	if len(some) == 0 || promise == (record.Promise{}) || !w.disableSelection(base, collection, some, &promise) {
		return
	}
	wait.Calls(len(some), len(some), func(i int) {
		said := promise
		w.awaitPause(ctx, base, &pausing{kinds: [2]string{record.Pause, record.Resume}, job: some[i].ID,
			longest: time.Minute}, &said)
	})
}

func (w *Workload) perm(n int) []int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.random.Perm(n)
}

// disableSelection disables jobs with a promise. It reports whether that was tried.
func (w *Workload) disableSelection(
	ctx context.Context, collection string, jobs []*Job, promise *record.Promise,
) bool {
	names := make([]string, len(jobs))
	for i, j := range jobs {
		names[i] = j.ID.Name
	}
	body := object{"action": "disable", "names": names}
	for name, value := range query(promise) {
		body[name] = value[0]
	}
	if promise.AtOnce > 0 {
		body["atOnce"] = promise.AtOnce
	}
	var preview struct{ Selection string }
	path := client.CollectionPath(collection)
	if err := w.client.Call(ctx, http.MethodPost, path+"/bulkPreview", body, &preview); err != nil {
		return false
	}
	changes := map[string]*record.Change{}
	w.mu.Lock()
	for _, j := range jobs {
		c := &record.Change{Job: j.ID, Kind: record.Pause, Promise: promise}
		changes[j.ID.Name] = c
		w.changes = append(w.changes, c)
	}
	w.mu.Unlock()
	for range maxTries {
		t, a := try(ctx, w.client, 0, http.MethodPost, path+"/bulkDisable", object{"selection": preview.Selection})
		w.noteResults(changes, t, a.Body)
		if t.Status/100 == 2 || wait.For(ctx, time.Second) != nil {
			break
		}
	}
	return true
}

// noteResults adds a try to the changes of all jobs of a selection: each has the status that its result says.
func (w *Workload) noteResults(changes map[string]*record.Change, t record.Try, body []byte) {
	var page struct {
		Value []struct {
			Name       string
			Properties struct{ Status string }
		}
	}
	_ = json.Unmarshal(body, &page) // of an error: no job has a result
	results := map[string]string{}
	for _, one := range page.Value {
		r := resource{Name: one.Name}
		results[r.name()] = one.Properties.Status
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for name, c := range changes {
		of := t
		if t.Status/100 == 2 {
			switch results[name] {
			case "Succeeded", "Changed", "Unchanged", "Done":
			case "":
				of.Status, of.Error = http.StatusConflict, "it is not among the results"
			default:
				of.Status, of.Error = http.StatusConflict, results[name]
			}
		}
		c.Tries = append(c.Tries, of)
	}
}
