# what bash offers after each line
source <(mindprof help --completion bash)
offer() {
	COMP_WORDS=("$@")
	COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
	COMPREPLY=()
	_mindprof
	echo "$*: ${COMPREPLY[*]}"
}
mkdir folder
offer mindprof re
offer mindprof report --t
offer mindprof record --mode ''
offer mindprof record --output f
offer mindprof report --table memory
offer mindprof export -t g
offer mindprof report fol
offer mindprof record --memory ''
