package fields

import (
	"reflect"
	"slices"
)

// Names returns the names of the members of a struct that users write.
func Names[T any]() (all []string) {
	for _, f := range membersOf(reflect.TypeFor[T]()) {
		all = append(all, f.name)
	}
	return all
}

// Homes returns the paths of the objects that have a member, by the normalized names of the members of a struct and of
// the structs in it, outer objects first. The path of the struct is "". What is below the members of skip is left out.
func Homes[T any](skip ...string) map[string][]string {
	homes := map[string][]string{}
	type object struct {
		path string
		of   reflect.Type
	}
	for level := []object{{"", reflect.TypeFor[T]()}}; len(level) > 0; {
		var next []object
		for _, o := range level {
			for _, f := range membersOf(o.of) {
				name := Normalize(f.name)
				homes[name] = append(homes[name], o.path)
				if inner := structIn(f.Type); inner != nil && !slices.Contains(skip, f.name) {
					next = append(next, object{MemberPath(o.path, f.name), inner})
				}
			}
		}
		level = next
	}
	return homes
}

// membersOf returns the fields that are members which users write.
func membersOf(t reflect.Type) []field {
	var d Decoder
	all, _ := d.fieldsOf(t)
	return all
}

// structIn returns the struct with members that a type, a pointer to it or a list of it is; nil if it is none.
func structIn(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || len(membersOf(t)) == 0 {
		return nil
	}
	return t
}
