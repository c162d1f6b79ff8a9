package docs_test

import (
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"almanac/api"
)

var link = regexp.MustCompile(`\]\(([^)\s]+)\)`)

func TestEveryLinkLeadsSomewhere(t *testing.T) {
	t.Parallel()
	all := pages(t)
	links := 0
	for _, p := range all {
		prose := span.ReplaceAllString(p.prose, "`code`")
		for _, m := range link.FindAllStringSubmatch(prose, -1) {
			target, err := url.Parse(m[1])
			require.NoErrorf(t, err, "%s: link %q", p.path, m[1])
			if target.IsAbs() {
				continue
			}
			links++
			assert.NotEqualf(t, "#", m[1], "%s: a link leads nowhere", p.path)
			to := p.path
			if target.Path != "" {
				to = path.Join(path.Dir(p.path), target.Path)
			}
			assert.Truef(t, exists(to), "%s: link %q: there is no file %s", p.path, m[1], to)
			if target.Fragment != "" {
				assert.Containsf(t, all[to].anchors, target.Fragment, "%s: link %q: %s has no such heading", p.path, m[1], to)
			}
		}
	}
	require.Greater(t, links, 100)
}

func TestEveryPageIsInTheIndex(t *testing.T) {
	t.Parallel()
	index := read(t, "docs/README.md")
	for p := range pages(t) {
		if path.Dir(p) == "docs" && p != "docs/README.md" {
			assert.Truef(t, has(index, "("+path.Base(p)+")"), "docs/README.md does not link %s", p)
		}
	}
}

var numbered = regexp.MustCompile(`(?m)^(\d+)\. `)

func TestThePagesOfTheIndexAreNumberedInOrder(t *testing.T) {
	t.Parallel()
	items := numbered.FindAllStringSubmatch(read(t, "docs/README.md"), -1)
	require.Greater(t, len(items), 20)
	for i, m := range items {
		assert.Equal(t, strconv.Itoa(i+1), m[1], "the number of a page in docs/README.md")
	}
}

func TestEveryConceptIsInTheIndexOfConcepts(t *testing.T) {
	t.Parallel()
	p := pages(t)["docs/concepts.md"]
	index, _, found := strings.Cut(p.prose, "\n## ")
	require.True(t, found)
	for _, anchor := range p.anchors[1:] {
		assert.Truef(t, has(index, "(#"+anchor+")"), "the index of docs/concepts.md lacks %s", anchor)
	}
}

func exists(p string) bool {
	_, err := os.Stat(filepath.Join(root, filepath.FromSlash(p)))
	return err == nil
}

// has reports whether a part is in a text. [assert.Contains] would print the whole text.
func has(text, part string) bool { return strings.Contains(text, part) }

var (
	fileName = regexp.MustCompile(`^\.?[a-z][\w.-]*(/[\w.-]+)*\.(go|md|json|ya?ml|svg|js|ts|sh)$`)
	dirName  = regexp.MustCompile(`^[a-z][\w.-]*(/[a-z][\w.-]*)*/?$`)
)

// madeByRuns are paths of files that commands write.
var madeByRuns = []string{".almanac/job.schema.json", "almanac.yaml", "bin/almanac", "keys.json", "plans.json", "report.md", "tokens.yaml"}

func TestEveryFileThatAPageNamesExists(t *testing.T) {
	t.Parallel()
	var all []string // the names of files, without directories
	for _, file := range files(t, ".go", ".md", ".json", ".yaml", ".yml", ".svg", ".js", ".ts", ".sh") {
		all = append(all, path.Base(file))
	}
	named := 0
	for _, p := range pages(t) {
		for _, name := range p.spans() {
			isFile := fileName.MatchString(name)
			isDir := dirName.MatchString(name) && strings.Contains(name, "/")
			if !isFile && !isDir || slices.Contains(madeByRuns, name) {
				continue
			}
			named++
			beside := path.Join(path.Dir(p.path), name)
			assert.Truef(t, exists(name) || exists(beside) || slices.Contains(all, name), "%s names `%s`, which is not in the repository", p.path, name)
		}
	}
	require.Greater(t, named, 50)
}

// inComment matches a file of the repository, with or without an anchor, in a Go comment.
var inComment = regexp.MustCompile(`//.*?\b((?:docs|examples|internal|workflows|devserver|api|lab)/[\w./-]+\.(?:md|go|json|ya?ml|svg)|[A-Z]+\.md)(?:#([\w-]+))?`)

func TestEveryPageThatACommentNamesExists(t *testing.T) {
	t.Parallel()
	all := pages(t)
	named := 0
	for _, file := range files(t, ".go") {
		for _, m := range inComment.FindAllStringSubmatch(read(t, file), -1) {
			named++
			assert.Truef(t, exists(m[1]), "a comment in %s names %s, which is not in the repository", file, m[1])
			if m[2] != "" {
				assert.Containsf(t, all[m[1]].anchors, m[2], "a comment in %s names %s#%s", file, m[1], m[2])
			}
		}
	}
	require.NotZero(t, named)
}

// sources returns the Go code, without tests, below directories.
func sources(t *testing.T, directories ...string) string {
	t.Helper()
	var code strings.Builder
	for _, file := range files(t, ".go") {
		in := slices.ContainsFunc(directories, func(d string) bool { return strings.HasPrefix(file, d+"/") })
		if in && !strings.HasSuffix(file, "_test.go") {
			code.WriteString(read(t, file))
		}
	}
	return code.String()
}

var (
	flagName = regexp.MustCompile(`(?:^|[^\w-])--([a-z][a-z-]+)`)
	variable = regexp.MustCompile(`\bALMANAC_[A-Z_]+[A-Z]\b`)
)

// ofOthers begin commands whose flags are not Almanac's.
var ofOthers = []string{"temporal ", "curl ", "task ", "podman ", "docker ", "kubectl ", "--codec-", "--name", "--query", "--type", "--workflow-id", "--reason", "--yes"}

func TestEveryFlagAndVariableThatAPageNamesExists(t *testing.T) {
	t.Parallel()
	program := sources(t, "cmd/almanac")
	named := 0
	for _, p := range pages(t) {
		for _, command := range p.commands {
			command, _, _ = strings.Cut(command, " | ")
			if slices.ContainsFunc(ofOthers, func(prefix string) bool { return strings.HasPrefix(command, prefix) }) {
				continue
			}
			for _, m := range flagName.FindAllStringSubmatch(command, -1) {
				named++
				assert.Truef(t, m[1] == "help" || has(program, `"`+m[1]+`"`),
					"%s: %q: almanac has no flag --%s", p.path, command, m[1])
			}
			for _, name := range variable.FindAllString(command, -1) {
				named++
				assert.Truef(t, has(program, `"`+name+`"`), "%s: almanac reads no variable %s", p.path, name)
			}
		}
	}
	require.Greater(t, named, 100)
}

var (
	taskName    = regexp.MustCompile(`(?:^|&& )task ([a-z][a-z:-]+)|/task@v[\d.]+ ([a-z][a-z:-]+)`)
	packagePath = regexp.MustCompile(`\bgo (?:test|run|build|vet|generate)\b.*? (\./[\w./-]+)`)
	inDirectory = regexp.MustCompile(`\bcd ([\w./-]+) && `)
	testName    = regexp.MustCompile(`\b(?:Test|Benchmark|Fuzz)[A-Z]\w+`)
)

func TestEveryTaskThatAPageNamesExists(t *testing.T) {
	t.Parallel()
	var taskfile struct{ Tasks map[string]any }
	require.NoError(t, yaml.Unmarshal([]byte(read(t, "Taskfile.yml")), &taskfile))
	named := 0
	for _, p := range pages(t) {
		for _, command := range p.commands {
			for _, m := range taskName.FindAllStringSubmatch(command, -1) {
				named++
				assert.Containsf(t, taskfile.Tasks, m[1]+m[2], "%s: %q", p.path, command)
			}
		}
	}
	require.Greater(t, named, 10)
}

func TestEveryPackageAndTestThatAPageNamesExists(t *testing.T) {
	t.Parallel()
	var tests strings.Builder
	for _, file := range files(t, ".go") {
		if strings.HasSuffix(file, "_test.go") {
			tests.WriteString(read(t, file))
		}
	}
	named := 0
	for _, p := range pages(t) {
		for _, command := range p.commands {
			base := "."
			if m := inDirectory.FindStringSubmatch(command); m != nil {
				base = m[1]
			}
			for _, m := range packagePath.FindAllStringSubmatch(command, -1) {
				named++
				assert.Truef(t, exists(path.Join(base, strings.TrimSuffix(m[1], "..."))), "%s: %q", p.path, command)
			}
			for _, name := range testName.FindAllString(command, -1) {
				assert.Truef(t, has(tests.String(), "func "+name), "%s: %q: there is no test %s", p.path, command, name)
			}
		}
	}
	require.Greater(t, named, 5)
}

var request = regexp.MustCompile(`^curl (?:-X ([A-Z]+) )?'?http://127\.0\.0\.1:8080(/[^?'\s]*)`)

func TestEveryRequestThatAPageShowsIsOneOfTheAPI(t *testing.T) {
	t.Parallel()
	var described struct{ Paths map[string]map[string]any }
	require.NoError(t, yaml.Unmarshal(api.OpenAPI(), &described))
	shown := 0
	for _, p := range pages(t) {
		for _, command := range p.commands {
			m := request.FindStringSubmatch(command)
			if m == nil {
				continue
			}
			shown++
			method := strings.ToLower(m[1])
			if method == "" && strings.Contains(command, " -d ") {
				method = "post"
			}
			if method == "" {
				method = "get"
			}
			known := false
			for template, operations := range described.Paths {
				_, has := operations[method]
				known = known || has && regexp.MustCompile("^"+placeholder.ReplaceAllString(template, "[^/]+")+"$").MatchString(m[2])
			}
			assert.Truef(t, known, "%s: %q: the API has no %s %s", p.path, command, method, m[2])
		}
	}
	require.Greater(t, shown, 20)
}

var placeholder = regexp.MustCompile(`{[^}]+}`)

func TestEveryPackageIsInTheTableOfPackages(t *testing.T) {
	t.Parallel()
	table := read(t, "CONTRIBUTING.md")
	directories := map[string]bool{}
	for _, file := range files(t, ".go") {
		parts := strings.Split(path.Dir(file), "/")
		if parts[0] == "internal" && len(parts) > 1 {
			parts[0] = "internal/" + parts[1]
		}
		directories[parts[0]] = true
	}
	for directory := range directories {
		assert.Truef(t, has(table, "`"+directory+"/"), "CONTRIBUTING.md does not say what %s has", directory)
	}
	require.Greater(t, len(directories), 20)
}
