#!/usr/bin/env bash
# Keep the mail of a token in a folder, a file per message, by the feed of changes: mirror.sh URL FOLDER
set -euo pipefail
base=$1/api/access folder=$2 cursor=
get() { curl -fsS -G -H "Authorization: Bearer $AGW_TOKEN" "$base/$1" "${@:2}"; }
message() { # print a message; nothing where it is gone
  local answer
  answer=$(curl -sS -w '\n%{http_code}' -H "Authorization: Bearer $AGW_TOKEN" "$base/email/messages/$1")
  case ${answer##*$'\n'} in
  200) printf '%s' "${answer%$'\n'*}" ;;
  404) ;;
  *) return 1 ;; # the cursor stays, so that the row comes again
  esac
}
file() { printf '%s/%s.json' "$folder" "${1//\//_}"; }

list() { # drop what is known, and read all pages
  rm -f "$folder"/*.json
  local page='{"nextPageToken": ""}' token
  while token=$(jq -er .nextPageToken <<<"$page"); do
    page=$(get email/messages -d limit=50 ${token:+--data-urlencode "pageToken=$token"})
    while read -r message; do
      printf '%s\n' "$message" >"$(file "$(jq -r .id <<<"$message")")"
    done < <(jq -c '.emails[]' <<<"$page")
  done
}

mkdir -p "$folder"
more=true
while [ "$more" = true ]; do
  if [ -s "$folder/cursor" ]; then
    feed=$(get changes --data-urlencode "since=$(cat "$folder/cursor")")
    ! jq -e 'any(.changes[]; .kind == "resync")' <<<"$feed" >/dev/null || list
  else
    feed=$(get changes -d surfaces=email)
    list
  fi
  while read -r kind id; do
    read=
    [ "$kind" = gone ] || read=$(message "$(jq -rn --arg id "$id" '$id|@uri')")
    if [ -n "$read" ]; then printf '%s\n' "$read" >"$(file "$id")"; else rm -f "$(file "$id")"; fi
  done < <(jq -r '.changes[] | select(.objectId) | "\(.kind) \(.objectId)"' <<<"$feed")
  jq -j .cursor <<<"$feed" >"$folder/cursor.new"
  mv "$folder/cursor.new" "$folder/cursor" # last: a kill before repeats the rows
  more=$(jq .more <<<"$feed")
done
