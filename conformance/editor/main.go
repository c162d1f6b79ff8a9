// Command editor bundles the editor of the console, CodeMirror 6, into one file that the console serves. The packages are
// those of package-lock.json, which npm ci brings; esbuild is a Go module. Whoever builds
// Almanac needs neither: the bundle is in the repository.
//
//	npm ci --ignore-scripts && go run .
package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/evanw/esbuild/pkg/api"
)

// bundled is where the bundle is kept.
var bundled = filepath.Join("..", "..", "console", "assets", "editor.js")

// license is that of CodeMirror, Lezer, style-mod, crelt and w3c-keyname, which have the same one.
const license = `/*!
CodeMirror 6, with Lezer, style-mod, crelt and w3c-keyname, and a module of Almanac (conformance/editor/editor.js).

`

func main() {
	text, err := bundle()
	if err == nil {
		err = os.WriteFile(bundled, text, 0o600)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "editor:", err)
		os.Exit(1)
	}
}

// bundle returns the text of the bundle. The same packages give the same bytes.
func bundle() ([]byte, error) {
	terms, err := os.ReadFile(filepath.Join("node_modules", "@codemirror", "view", "LICENSE"))
	if err != nil {
		return nil, fmt.Errorf("the packages are missing, run npm ci --ignore-scripts: %w", err)
	}
	result := api.Build(api.BuildOptions{
		EntryPoints: []string{"editor.js"}, Bundle: true, Format: api.FormatESModule, Target: api.ES2022, Charset: api.CharsetUTF8,
		MinifySyntax: true, MinifyWhitespace: true, MinifyIdentifiers: true, LegalComments: api.LegalCommentsNone,
		Banner: map[string]string{"js": license + string(terms) + "*/"},
	})
	var errs []error
	for _, message := range result.Errors {
		errs = append(errs, errors.New(message.Text))
	}
	if len(errs) > 0 || len(result.OutputFiles) != 1 {
		return nil, errors.Join(append(errs, errors.New("there is no bundle"))...)
	}
	return result.OutputFiles[0].Contents, nil
}
