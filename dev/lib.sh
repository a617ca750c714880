# shellcheck shell=bash
# What the scripts in dev/ share.

say() { echo "dev: $*" >&2; }
die() {
  say "$*"
  exit 1
}

# answers PORT: something listens there on loopback.
answers() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

# allowed WHAT returns where this machine may be changed: in CI, with YES=1, or after a person said yes.
allowed() {
  local answer
  [[ -z ${CI:-} && -z ${YES:-} ]] || return 0
  [[ -t 0 ]] || die "may I $1? Nobody is there to ask; say YES=1"
  read -r -p "May I $1? [y/N] " answer
  [[ $answer == [yY]* ]] || die "then not"
}

# apt_install PACKAGE... installs Debian packages.
apt_install() {
  local sudo=()
  command -v apt-get >/dev/null || die "$* is missing, and this is no Debian: install it yourself"
  allowed "install $* with apt-get"
  [[ $UID == 0 ]] || sudo=(sudo)
  say "installing $*"
  "${sudo[@]}" apt-get update -q </dev/null >/dev/null
  "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -yq --no-install-recommends "$@" </dev/null >/dev/null
}

# apt_mirror prints the address that this machine gets Debian from.
apt_mirror() {
  local mirror
  # shellcheck disable=SC2016 # expanded by apt-get
  mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Component: main' 'Origin: Debian' 'Label: Debian' 2>/dev/null | head -n 1)
  [[ -n $mirror ]] || mirror=$(sed -n 's/^URIs: *\([^ ]*\).*/\1/p; s/^deb \(\[[^]]*\] \)\?\([^ ]*\).*/\2/p' /etc/apt/sources.list.d/*.sources /etc/apt/sources.list 2>/dev/null | head -n 1)
  [[ -n $mirror ]] || die "apt has no Debian mirror in its sources"
  echo "$mirror"
}
