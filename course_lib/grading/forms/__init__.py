"""The level-1 exercises: questions with choices, each with its reason. One module an exercise."""
