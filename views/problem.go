package views

import "net/http"

func (f Failure) headline() string {
	switch f.Status {
	case http.StatusNotFound:
		return "Not here"
	case http.StatusConflict:
		return "Something moved meanwhile"
	case http.StatusForbidden:
		return "Not allowed"
	case http.StatusUnprocessableEntity, http.StatusBadRequest:
		return "This can't be done as asked"
	case http.StatusServiceUnavailable:
		return "Not now"
	}
	return f.Title
}

func (f Failure) state() State {
	if f.Status >= http.StatusInternalServerError {
		return Bad
	}
	return Warn
}
