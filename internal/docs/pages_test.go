// Package docs_test checks the documentation against the repository: links, paths, names of
// flags, variables, tasks and tests, and the reference of fields.
package docs_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"
)

// root is the repository.
const root = "../.."

// A page is a Markdown file.
type page struct {
	path     string // below the root, with slashes
	prose    string // without blocks of code
	blocks   []block
	anchors  []string // of its headings
	headings []string
}

// A block is code between fences.
type block struct {
	language string
	text     string
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
		all[path] = parse(path, read(t, path))
	}
	return all
}

func parse(path, text string) page {
	p := page{path: path}
	var prose, code strings.Builder
	fenced, language := false, ""
	for line := range strings.Lines(text) {
		trimmed := strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(trimmed, "```"):
			if fenced {
				p.blocks = append(p.blocks, block{language, code.String()})
			}
			fenced, language = !fenced, strings.TrimPrefix(trimmed, "```")
			code.Reset()
		case fenced:
			code.WriteString(line)
		default:
			prose.WriteString(line)
			if heading, ok := strings.CutPrefix(strings.TrimLeft(line, "#"), " "); ok && strings.HasPrefix(line, "#") {
				p.headings = append(p.headings, strings.TrimSpace(heading))
			}
		}
	}
	p.prose = prose.String()
	for _, heading := range p.headings {
		anchor := slug(heading)
		for n := 1; slices.Contains(p.anchors, anchor); n++ {
			anchor = slug(heading) + "-" + string(rune('0'+n))
		}
		p.anchors = append(p.anchors, anchor)
	}
	return p
}

// slug returns the anchor that GitHub gives a heading.
func slug(heading string) string {
	heading = regexp.MustCompile(`\[([^]]*)\]\([^)]*\)`).ReplaceAllString(heading, "$1")
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsLetter(r) || unicode.IsNumber(r) || r == '-' || r == '_':
			return unicode.ToLower(r)
		case r == ' ':
			return '-'
		}
		return -1
	}, heading)
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

// commands returns the lines of the page's shell blocks, and the commands in its text.
func (p page) commands() []string {
	found := p.spans()
	for _, b := range p.blocks {
		if b.language == "sh" {
			found = append(found, strings.Split(b.text, "\n")...)
		}
	}
	return found
}

func TestParsingAPage(t *testing.T) {
	t.Parallel()
	p := parse("x.md", "# A `b` & c\n\n## 1. Go on\n```sh\n# no heading\ntask x\n```\n## 1. Go on\n`task\ny` [a](b)\n")
	require.Equal(t, []string{"a-b--c", "1-go-on", "1-go-on-1"}, p.anchors)
	require.Equal(t, []block{{"sh", "# no heading\ntask x\n"}}, p.blocks)
	require.Contains(t, p.commands(), "task x")
	require.Contains(t, p.commands(), "task y")
	require.NotContains(t, p.prose, "no heading")
}
