package handlers

import (
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"

	"parkade"
)

// readParts puts the fields of a form into r.Form and returns the file in it, nil
// where there is none or an empty one. The parser of net/http gives up at 1,000
// parts, which a message with 200 headers has.
func readParts(r *http.Request) (file []byte, err error) {
	parts, err := r.MultipartReader()
	if errors.Is(err, http.ErrNotMultipart) { // the other kind of form has no files
		return nil, unreadable(r.ParseForm())
	}
	if err != nil {
		return nil, unreadable(err)
	}
	r.Form = url.Values{}
	for {
		part, err := parts.NextPart()
		if errors.Is(err, io.EOF) {
			return file, nil
		}
		if err != nil {
			return nil, unreadable(err)
		}
		var text strings.Builder
		switch _, err = io.Copy(&text, part); {
		case err != nil:
			return nil, unreadable(err)
		case part.FormName() != "file":
			r.Form.Add(part.FormName(), text.String())
		case text.Len() > 0:
			file = []byte(text.String())
		}
	}
}

// unreadable explains why a form can't be read.
func unreadable(err error) error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return parkade.Errorf(parkade.TooLarge, "The form with its file is larger than %d MiB. Nothing was changed or sent; go back to what you typed.", e.Limit>>20)
	}
	return parkade.Errorf(parkade.Invalid, "The form can't be read.").Because(err)
}
