package wanted

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/google/uuid"
	"go.yaml.in/yaml/v3"

	"almanac/job/jobfile"
)

// SchemaFile is where the JSON schema of job files is in a directory, for editors.
const SchemaFile = ".almanac/job.schema.json"

// Init makes the file of a directory, with an owner of its own, and writes the JSON schema of job files beside it. A directory that has that file
// already is an error.
func Init(dir string, c Config) error {
	path := filepath.Join(dir, ConfigFile)
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s is there already", path)
	}
	c.Owner = uuid.NewString()
	var text bytes.Buffer
	text.WriteString("# The jobs of this directory; `almanac plan -f .` shows what an apply would do.\n")
	e := yaml.NewEncoder(&text)
	e.SetIndent(2)
	if err := e.Encode(c); err != nil {
		return err
	}
	schema := filepath.Join(dir, filepath.FromSlash(SchemaFile))
	if err := os.MkdirAll(filepath.Dir(schema), 0o755); err != nil {
		return err
	}
	if err := replaceFile(schema, jobfile.Schema()); err != nil {
		return err
	}
	return replaceFile(path, text.Bytes())
}
