package azure

import (
	"io/fs"
	"path"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"almanac/cmd/almanac/internal/importer/source"
)

const (
	maxModuleDepth = 8
	maxModules     = 1000 // that are followed in an import
)

// ofModule are the arguments of a block module that are no variables of it.
var ofModule = words(`source version count for_each providers depends_on`)

// child reads the module that a block names, as often as its count or for_each says, if its files are below the directory
// of the source.
func (m *module) child(b moduleBlock) {
	if b.block.Type != "module" || len(b.block.Labels) != 1 {
		return
	}
	line := b.block.TypeRange.Start.Line
	missing := func(why string) {
		m.c.result.Problem(b.file.Name, line, "the module "+short(b.block.Labels[0])+" is left out: "+why+
			". Import its files as well, or the state, which has the jobs of all modules")
	}
	a := b.block.Body.Attributes["source"]
	if a == nil {
		missing("it has no source")
		return
	}
	from, _ := m.value(a.Expr, nil, line).Str()
	if !strings.HasPrefix(from, "./") && !strings.HasPrefix(from, "../") {
		missing("its source is no directory here, and import opens no connection")
		return
	}
	files := m.inside(from)
	instances, known := m.instances(b.block)
	switch {
	case len(files) == 0:
		missing("its source has no .tf below the directory that is imported")
		return
	case !known:
		missing("how many there are (count, for_each) is not known")
		return
	case m.depth >= maxModuleDepth:
		missing("modules are nested too deep")
		return
	}
	for _, instance := range instances {
		if m.c.modules++; m.c.modules > maxModules {
			missing("there are too many modules")
			return
		}
		m.called(b, files, instance)
	}
}

// inside returns the files of a module in a directory.
func (m *module) inside(dir string) (files []source.File) {
	if m.first.Dir == nil {
		return nil
	}
	within := path.Join(path.Dir(m.first.Path), dir)
	if !fs.ValidPath(within) {
		return nil
	}
	entries, err := fs.ReadDir(m.first.Dir, within)
	if err != nil {
		return nil
	}
	for _, e := range entries {
		if file, err := m.first.Beside(path.Join(dir, e.Name())); err == nil && isConfiguration(e.Name()) && len(files) < maxModuleFiles {
			files = append(files, file)
		}
	}
	return files
}

// called reads a module with the values that a block gives its variables.
func (m *module) called(b moduleBlock, files []source.File, instance map[string]cty.Value) {
	inner := newModule(m.c, files[0])
	inner.depth = m.depth + 1
	for _, file := range files {
		inner.add(file)
	}
	for name, a := range b.block.Body.Attributes {
		if !ofModule[name] {
			v, why := m.evaluate(a.Expr, instance)
			inner.values["var."+name] = evaluated{v, why, measured(v)}
		}
	}
	if m.c.followed == nil {
		m.c.followed = map[string]bool{}
	}
	m.c.followed[path.Dir(files[0].Name)] = true
	outer := m.c.file
	inner.read()
	m.c.file = outer
}
