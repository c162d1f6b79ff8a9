package docs_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"almanac/internal/docs"
)

// root is the repository.
const root = "../.."

// A page is a Markdown file.
type page struct {
	path     string // below the root, with slashes
	prose    string // without blocks of code
	commands []string
	anchors  []string
}

// files returns the paths of the repository's files with one of the extensions.
func files(t *testing.T, extensions ...string) []string {
	t.Helper()
	var found []string
	require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && slices.Contains([]string{".git", "node_modules", "almanac-data", "bin"}, d.Name()) {
			return filepath.SkipDir
		}
		if slices.Contains(extensions, filepath.Ext(path)) {
			relative, err := filepath.Rel(root, path)
			found = append(found, filepath.ToSlash(relative))
			return err
		}
		return nil
	}))
	require.NotEmpty(t, found)
	return found
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, path))
	require.NoError(t, err)
	return string(text)
}

// pages returns all Markdown files by their paths.
func pages(t *testing.T) map[string]page {
	t.Helper()
	all := map[string]page{}
	for _, path := range files(t, ".md") {
		parts := docs.Parse(read(t, path))
		p := page{path: path, anchors: docs.Anchors(parts)}
		for _, part := range parts {
			switch {
			case !part.Code:
				p.prose += part.Text
			case part.Language == "sh":
				p.commands = append(p.commands, docs.Commands(part.Text)...)
			}
		}
		p.commands = append(p.commands, p.spans()...)
		all[path] = p
	}
	return all
}

var span = regexp.MustCompile("`([^`]+)`")

// spans returns the code in the text of a page.
func (p page) spans() []string {
	var found []string
	for _, m := range span.FindAllStringSubmatch(p.prose, -1) {
		found = append(found, strings.Join(strings.Fields(m[1]), " "))
	}
	return found
}

func TestAPageIsProseAndCodeInTheirOrder(t *testing.T) {
	t.Parallel()
	parts := docs.Parse("# A `b` & c\n\n## 1. [Go](x) on\n```sh\n# no heading\ncurl -d '{\n}' x\n\ntask x\n```\n## 1. Go on\nend\n")
	require.Equal(t, []docs.Part{
		{Text: "# A `b` & c\n\n## 1. [Go](x) on\n"},
		{Text: "# no heading\ncurl -d '{\n}' x\n\ntask x\n", Code: true, Language: "sh"},
		{Text: "## 1. Go on\nend\n"},
	}, parts)
	require.Equal(t, []string{"a-b--c", "1-go-on", "1-go-on-1"}, docs.Anchors(parts))
	require.Equal(t, []string{"curl -d '{\n}' x", "task x"}, docs.Commands(parts[1].Text))
}
