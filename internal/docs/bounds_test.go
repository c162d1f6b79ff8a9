package docs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// statedBy matches the constants of one file in docs/bounds.md, such as "`maxSkips = 100` in `workflows/x.go`".
var statedBy = regexp.MustCompile("((?:`\\w+ = [^`]+`(?:, )?)+) in `([^`]+\\.go)`")

func TestThePageOfBoundsHasTheConstantsThatStateThem(t *testing.T) {
	t.Parallel()
	const page = "docs/bounds.md"
	constants, rows := 0, 0
	for line := range strings.Lines(read(t, page)) {
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| workflow |") {
			continue
		}
		rows++
		for _, found := range statedBy.FindAllStringSubmatch(line, -1) {
			declared := constantsOf(t, found[2])
			for stated := range strings.SplitSeq(found[1], ", ") {
				constants++
				name, value, _ := strings.Cut(strings.Trim(stated, "`"), " = ")
				assert.Equalf(t, value, declared[name], "%s says that %s of %s is this", page, name, found[2])
			}
		}
	}
	require.Greater(t, constants, rows, "of %d rows", rows)
}

// constantsOf returns the constants of a file of the repository, with their values as they are written.
func constantsOf(t *testing.T, file string) map[string]string {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join("..", "..", file), nil, parser.SkipObjectResolution)
	require.NoError(t, err)
	all := map[string]string{}
	for _, declaration := range parsed.Decls {
		constants, ok := declaration.(*ast.GenDecl)
		if !ok || constants.Tok != token.CONST {
			continue
		}
		for _, spec := range constants.Specs {
			spec := spec.(*ast.ValueSpec)
			for i, value := range spec.Values {
				all[spec.Names[i].Name] = types.ExprString(value)
			}
		}
	}
	return all
}
