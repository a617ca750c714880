package handlers

// watchRoutes lists the pages about what is watched and what is running.
func watchRoutes(Deps) []Route { return nil }
