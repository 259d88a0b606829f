module github.com/wayfarer-rpg/wayfarer

go 1.26.0

require github.com/wayfarer-rpg/wayfarer/proto v0.0.0

replace github.com/wayfarer-rpg/wayfarer/proto => ./proto
