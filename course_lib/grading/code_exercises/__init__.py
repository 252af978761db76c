"""The level-2 exercises: a small program, judged by what it does. One module an exercise; its starter and solution stand in answers/."""
