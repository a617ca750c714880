package views

// Settings is what this installation is, and what its configuration says. It is
// only shown: the file is where it is changed.
type Settings struct {
	Shell

	File     string // where the configuration was read from, or ""
	Sections []SettingSection
	Store    []Setting
	Versions []Setting
	Ahead    []string // sentences on what this version doesn't use yet
}

// SettingSection is a part of the configuration.
type SettingSection struct {
	Title string
	Lines []Setting
}

// Setting is one line: a name, and its value without anything secret.
type Setting struct {
	Name  string
	Value string
	Code  bool // the value is a name or an address
}
