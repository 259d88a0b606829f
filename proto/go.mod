module github.com/wayfarer-rpg/wayfarer/proto

go 1.26.0
