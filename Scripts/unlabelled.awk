# Prints FILE:LINE of each function, initializer or subscript that takes more than two parameters without a label.
function finish(   i, c, depth, start, count, text) {
    depth = 0; count = 0; start = 1
    for (i = 1; i <= length(open); i++) {
        c = substr(open, i, 1)
        if (c == ">" && substr(open, i - 1, 1) == "-") continue
        if (c ~ /[(\[{<]/) { depth++; if (depth == 1) start = i + 1 }
        else if (c ~ /[)\]}>]/) depth--
        if ((c == "," && depth == 1) || depth == 0) {
            text = substr(open, start, i - start)
            sub(/^[ \t]+/, "", text)
            if (text ~ /^_ /) count++
            start = i + 1
        }
        if (depth == 0) {
            if (count > 2) print file ":" line
            open = ""
            return
        }
    }
}
FNR == 1 { open = "" }
{
    text = $0
    sub(/\/\/.*/, "", text)
    if (open != "") {
        open = open " " text
        finish()
    } else if (match(text, /(^|[ \t])(func [^ (<]+|init[?!]?|subscript) *(<[^(]*>)?\(/)) {
        file = FILENAME; line = FNR
        open = substr(text, RSTART + RLENGTH - 1)
        finish()
    }
}
