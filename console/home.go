package console

import "net/http"

// home sends the browser to the jobs.
func (s *Console) home(w http.ResponseWriter, r *http.Request) { s.redirect(w, r, "/jobs") }
