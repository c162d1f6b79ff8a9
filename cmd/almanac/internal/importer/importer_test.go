package importer_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/cmd/almanac/internal/importer"
	"almanac/cmd/almanac/internal/importer/azure"
	"almanac/cmd/almanac/internal/importer/crontab"
	"almanac/cmd/almanac/internal/importer/kubernetes"
	"almanac/cmd/almanac/internal/importer/source"
	"almanac/job/input"
	"almanac/job/jobfile"
)

var update = flag.Bool("update", false, "write the reports of the corpus anew")

var now = time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)

var readers = map[string]func([]source.File, importer.Options) importer.Result{
	"azure": azure.Read, "crontab": crontab.Read, "kubernetes": kubernetes.Read,
}

// cases returns the directories of the corpus.
func cases(t *testing.T) (all []string) {
	t.Helper()
	for kind := range readers {
		entries, err := os.ReadDir(filepath.Join("testdata", kind))
		require.NoError(t, err)
		for _, e := range entries {
			if e.IsDir() {
				all = append(all, kind+"/"+e.Name())
			}
		}
	}
	slices.Sort(all)
	require.NotEmpty(t, all)
	return all
}

// imported imports a directory of the corpus.
func imported(t *testing.T, name string) *importer.Report {
	t.Helper()
	dir := os.DirFS(filepath.Join("testdata", name))
	var files []source.File
	require.NoError(t, fs.WalkDir(dir, ".", func(p string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() && p != "want.txt" && p != "body.json" && p != "linked.json" {
			files = append(files, source.File{Dir: dir, Path: p, Name: p})
		}
		return err
	}))
	kind := path.Dir(name)
	return importer.Finish(kind, readers[kind](files, importer.Options{Now: now}), now)
}

// shown returns all that an import writes and prints.
func shown(t *testing.T, r *importer.Report) string {
	t.Helper()
	files, err := r.Files()
	require.NoError(t, err)
	var b bytes.Buffer
	require.NoError(t, r.Text(&b))
	for _, name := range slices.Sorted(func(yield func(string) bool) {
		for name := range files {
			if !yield(name) {
				return
			}
		}
	}) {
		b.WriteString("\n=== " + name + "\n" + string(files[name]))
	}
	return b.String()
}

func TestCorpus(t *testing.T) {
	t.Parallel()
	for _, name := range cases(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := shown(t, imported(t, name))
			want := filepath.Join("testdata", name, "want.txt")
			if *update {
				require.NoError(t, os.WriteFile(want, []byte(got), 0o644))
				return
			}
			text, err := os.ReadFile(want)
			require.NoError(t, err)
			sameLines(t, string(text), got)
		})
	}
}

// sameLines fails at the first line that differs.
func sameLines(t *testing.T, want, got string) {
	t.Helper()
	wanted, all := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range max(len(wanted), len(all)) {
		if i >= len(wanted) || i >= len(all) || wanted[i] != all[i] {
			from := max(0, i-3)
			t.Fatalf("line %d of want.txt differs (-update writes it anew)\n--- want\n%s\n--- got\n%s", i+1,
				strings.Join(wanted[min(from, len(wanted)):min(i+3, len(wanted))], "\n"), strings.Join(all[min(from, len(all)):min(i+3, len(all))], "\n"))
		}
	}
}

// Each secret of the corpus has the word CANARY in it.
func TestSecretsAreWrittenNowhere(t *testing.T) {
	t.Parallel()
	canaries := 0
	for _, name := range cases(t) {
		r := imported(t, name)
		outputs := []string{shown(t, r)}
		asJSON, err := json.Marshal(r)
		require.NoError(t, err)
		var markdown bytes.Buffer
		require.NoError(t, r.Markdown(&markdown))
		outputs = append(outputs, string(asJSON), markdown.String())
		if err := r.Missing(); err != nil {
			outputs = append(outputs, err.Error())
		}
		for _, out := range outputs {
			require.NotContains(t, out, "CANARY", name)
			require.NotContains(t, out, "Q0FOQVJZ", name) // in base64
		}
		require.NoError(t, filepath.WalkDir(filepath.Join("testdata", name), func(p string, e fs.DirEntry, err error) error {
			if err == nil && !e.IsDir() {
				text, _ := os.ReadFile(p)
				canaries += bytes.Count(text, []byte("CANARY"))
			}
			return err
		}))
	}
	require.GreaterOrEqual(t, canaries, 15)
}

// What is written is a job file. The API takes it once the variables are set, unless it needs other values: then apply
// refuses it.
func TestFilesAreJobFiles(t *testing.T) {
	t.Parallel()
	for _, name := range cases(t) {
		r := imported(t, name)
		files, err := r.Files()
		require.NoError(t, err)
		byFile := map[string]importer.JobReport{}
		for _, j := range r.Jobs {
			if j.Written != "" {
				byFile[j.Written] = j
			}
			require.Equal(t, j.Verdict < importer.NotYet, j.Written != "", "%s: %s", name, j.Name)
		}
		for file, text := range files {
			jobs, err := jobfile.Read(file, text)
			needs := bytes.Contains(text, []byte("$needs:")) || bytes.Contains(text, []byte("apply takes no reference"))
			if err != nil {
				require.True(t, needs, "%s: %v\n%s", file, err, text)
				continue
			}
			require.Len(t, jobs, 1)
			secrets := map[string]string{}
			for _, reference := range jobs[0].References() {
				secrets[reference.Path] = "secret"
			}
			_, err = input.ParseDefinition(jobs[0].Body(secrets), input.ParseOptions{Now: now})
			if needs || bytes.Contains(text, []byte("pfx:")) {
				require.Error(t, err, "%s\n%s", file, text)
			} else {
				require.NoError(t, err, "%s\n%s", file, text)
			}
			require.Empty(t, jobs[0].Literals())
		}
	}
}

func TestASecondImportIsTheSame(t *testing.T) {
	t.Parallel()
	for _, name := range cases(t) {
		first := shown(t, imported(t, name))
		require.Equal(t, first, shown(t, imported(t, name)), name)
	}
}

func TestNothingFoundIsNoSuccess(t *testing.T) {
	t.Parallel()
	for kind := range readers {
		r := imported(t, kind+"/nothing")
		require.Empty(t, r.Jobs)
		require.ErrorContains(t, r.Missing(), "no job was found")
		require.NotEmpty(t, r.Problems)
	}
}
