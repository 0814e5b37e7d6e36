/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A training program that records itself with MindProf: the first example to read.
 *
 * A loader thread makes batches of a synthetic classification problem and puts them into a bounded queue. The
 * main thread takes them out and runs forward, loss, backward and optimizer of a three-layer perceptron,
 * helped by worker threads that share the rows of every matrix product. Every few steps it writes a
 * checkpoint. The arithmetic is real: the loss falls, and the exit status is 0 only if it did.
 *
 * All annotations are calls of <mindprof/record.h>; they cost one load each while nobody records. Record with
 *     mindprof record -- train_mlp --slow-loader 20        (from outside)
 *     train_mlp --record --output DIR                      (the program starts it by itself)
 */
#include <getopt.h>
#include <math.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <mindprof/record.h>

#define INPUTS 64       /* features of a sample */
#define CLASSES 10      /* what a sample can be */
#define QUEUE_BATCHES 4 /* how far the loader may run ahead */
#define MAX_THREADS 64
#define LEARNING_RATE 0.02f
#define MOMENTUM 0.9f

static struct {
	long steps, batch, hidden, threads, checkpoint_every;
	long slow_loader_ms;          /* the loader sleeps this long for each batch */
	long slow_step, slow_step_ms; /* this step (from 1, 0 = none) sleeps this long */
	long leak_bytes;              /* never given back, per step */
	const char *checkpoint, *output;
	bool record;
} options = {
	.steps = 60, .batch = 128, .hidden = 256, .threads = 2, .checkpoint_every = 20, .slow_step_ms = 100};

static void *must(void *result)
{
	if (!result) {
		perror("train_mlp");
		exit(1);
	}
	return result;
}

static void sleep_ms(long ms)
{
	struct timespec t = {ms / 1000, ms % 1000 * 1000000};

	nanosleep(&t, NULL);
}

/* ------------------------------------------------------------------ matrices */

/* A view of a matrix: element (row, col) is data[row * row_step + col * col_step]. */
struct matrix {
	float *data;
	size_t rows, cols, row_step, col_step;
};

static struct matrix transposed(struct matrix m)
{
	return (struct matrix){m.data, m.cols, m.rows, m.col_step, m.row_step};
}

/* A matrix of zeros. `site` says what the memory is for; matrix_free gives it back under the same name. */
static struct matrix matrix_new(struct mindprof_site *site, size_t rows, size_t cols)
{
	struct matrix m = {must(calloc(rows * cols, sizeof(float))), rows, cols, cols, 1};

	mindprof_memory_alloc(site, m.data, rows * cols * sizeof(float));
	return m;
}

static void matrix_free(struct mindprof_site *site, struct matrix *m)
{
	if (m->data)
		mindprof_memory_free(site, m->data, m->rows * m->cols * sizeof(float));
	free(m->data);
	m->data = NULL;
}

/* ------------------------------------------------------------------- workers */

/* Threads that share the rows of a product with the caller. */
static struct {
	pthread_mutex_t lock;
	pthread_cond_t begin, end;
	pthread_t threads[MAX_THREADS];
	unsigned long round; /* goes up with every product */
	long running;        /* workers that have not finished the round */
	bool stop;
	struct matrix a, b, c;
} workers = {.lock = PTHREAD_MUTEX_INITIALIZER,
	     .begin = PTHREAD_COND_INITIALIZER,
	     .end = PTHREAD_COND_INITIALIZER};

/* Rows of c = a * b that fall to one of the threads. */
static void multiply_rows(struct matrix a, struct matrix b, struct matrix c, long part)
{
	size_t first = c.rows * (size_t)part / (size_t)options.threads;
	size_t end = c.rows * (size_t)(part + 1) / (size_t)options.threads;

	MINDPROF_SCOPE("rows of a product");
	for (size_t i = first; i < end; i++) {
		float *out = c.data + i * c.row_step;

		memset(out, 0, c.cols * sizeof(*out));
		for (size_t k = 0; k < a.cols; k++) {
			const float *row = b.data + k * b.row_step;
			float factor = a.data[i * a.row_step + k * a.col_step];

			for (size_t j = 0; j < c.cols; j++)
				out[j] += factor * row[j * b.col_step];
		}
	}
}

static void *worker_main(void *argument)
{
	long part = (long)(size_t)argument;
	unsigned long round = 0;
	char name[32];

	snprintf(name, sizeof(name), "worker %ld", part);
	mindprof_thread_name(name);
	pthread_mutex_lock(&workers.lock);
	for (;;) {
		struct matrix a, b, c;

		while (workers.round == round && !workers.stop)
			pthread_cond_wait(&workers.begin, &workers.lock);
		if (workers.stop)
			break;
		round = workers.round;
		a = workers.a;
		b = workers.b;
		c = workers.c;
		pthread_mutex_unlock(&workers.lock);
		multiply_rows(a, b, c, part);
		pthread_mutex_lock(&workers.lock);
		if (--workers.running == 0)
			pthread_cond_signal(&workers.end);
	}
	pthread_mutex_unlock(&workers.lock);
	return NULL;
}

static void workers_start(void)
{
	for (long i = 1; i < options.threads; i++)
		if (pthread_create(&workers.threads[i], NULL, worker_main, (void *)(size_t)i) != 0)
			must(NULL);
}

static void workers_stop(void)
{
	pthread_mutex_lock(&workers.lock);
	workers.stop = true;
	pthread_cond_broadcast(&workers.begin);
	pthread_mutex_unlock(&workers.lock);
	for (long i = 1; i < options.threads; i++)
		pthread_join(workers.threads[i], NULL);
}

/* c = a * b, recorded as one execution of the operator `site`. */
static void multiply(struct mindprof_site *site, struct matrix a, struct matrix b, struct matrix c)
{
	struct mindprof_range range = mindprof_op_begin(site);

	pthread_mutex_lock(&workers.lock);
	workers.a = a;
	workers.b = b;
	workers.c = c;
	workers.round++;
	workers.running = options.threads - 1;
	pthread_cond_broadcast(&workers.begin);
	pthread_mutex_unlock(&workers.lock);

	multiply_rows(a, b, c, 0);

	pthread_mutex_lock(&workers.lock);
	while (workers.running > 0)
		pthread_cond_wait(&workers.end, &workers.lock);
	pthread_mutex_unlock(&workers.lock);
	mindprof_op_end(&range);
}

/* ---------------------------------------------------------------------- data */

/* A small generator with a fixed seed: the same numbers in every run. */
static float random_uniform(uint64_t *state)
{
	uint64_t z = (*state += 0x9e3779b97f4a7c15u);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	z ^= z >> 31;
	return (float)(z >> 40) / 8388608.0f - 1.0f; /* -1 .. 1 */
}

struct batch {
	long number;
	struct matrix samples; /* batch x INPUTS */
	int *labels;
};

/* The loader's batches on their way to the training loop. */
static struct {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct batch *items[QUEUE_BATCHES];
	size_t first, count;
} queue = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

/* Both ends tell how long they had to wait and how full the queue is: that is what shows who is too slow. */
static void queue_push(struct batch *batch)
{
	uint64_t wait_began = 0;

	pthread_mutex_lock(&queue.lock);
	if (queue.count == QUEUE_BATCHES)
		wait_began = mindprof_now();
	while (queue.count == QUEUE_BATCHES)
		pthread_cond_wait(&queue.changed, &queue.lock);
	queue.items[(queue.first + queue.count++) % QUEUE_BATCHES] = batch;
	mindprof_queue_push(MINDPROF_SITE(MINDPROF_SITE_QUEUE, "batches"), wait_began, queue.count,
			    QUEUE_BATCHES);
	pthread_cond_broadcast(&queue.changed);
	pthread_mutex_unlock(&queue.lock);
}

static struct batch *queue_pop(void)
{
	uint64_t wait_began = 0;
	struct batch *batch;

	pthread_mutex_lock(&queue.lock);
	if (queue.count == 0)
		wait_began = mindprof_now();
	while (queue.count == 0)
		pthread_cond_wait(&queue.changed, &queue.lock);
	batch = queue.items[queue.first];
	queue.first = (queue.first + 1) % QUEUE_BATCHES;
	queue.count--;
	mindprof_queue_pop(MINDPROF_SITE(MINDPROF_SITE_QUEUE, "batches"), wait_began, queue.count,
			   QUEUE_BATCHES);
	pthread_cond_broadcast(&queue.changed);
	pthread_mutex_unlock(&queue.lock);
	return batch;
}

/* A sample is the centre of its class plus noise. */
static void batch_fill(struct batch *batch)
{
	uint64_t random = (uint64_t)batch->number << 32;

	for (size_t i = 0; i < batch->samples.rows; i++) {
		int label = (int)((random_uniform(&random) + 1.0f) * 0.5f * CLASSES);
		uint64_t centre = (uint64_t)label;

		batch->labels[i] = label;
		for (size_t j = 0; j < INPUTS; j++)
			batch->samples.data[i * INPUTS + j] =
				0.3f * random_uniform(&centre) + random_uniform(&random);
	}
}

static struct mindprof_site *batch_memory(void)
{
	return MINDPROF_SITE(MINDPROF_SITE_MEMORY, "batches");
}

static struct mindprof_site *batch_flow(void)
{
	return MINDPROF_SITE(MINDPROF_SITE_FLOW, "batch to step");
}

static void *loader_main(void *argument)
{
	(void)argument;
	mindprof_thread_name("data loader");
	for (long number = 1; number <= options.steps; number++) {
		struct batch *batch = must(malloc(sizeof(*batch)));

		MINDPROF_RANGE ("load batch") {
			batch->number = number;
			batch->samples = matrix_new(batch_memory(), (size_t)options.batch, INPUTS);
			batch->labels = must(calloc((size_t)options.batch, sizeof(int)));
			batch_fill(batch);
			sleep_ms(options.slow_loader_ms);
			/* The arrow from here ends in the step that uses the batch. */
			mindprof_flow_begin(batch_flow(), (uint64_t)number);
		}
		queue_push(batch);
	}
	return NULL;
}

static void batch_free(struct batch *batch)
{
	matrix_free(batch_memory(), &batch->samples);
	free(batch->labels);
	free(batch);
}

/* --------------------------------------------------------------------- model */

struct layer {
	struct matrix weight, weight_grad, weight_velocity; /* inputs x outputs */
	struct matrix bias, bias_grad, bias_velocity;       /* 1 x outputs */
	struct matrix output, output_grad;                  /* batch x outputs; live for one step */
	bool relu;
	struct mindprof_site *matmul, *bias_add, *matmul_weight_grad, *bias_grad_op, *matmul_input_grad,
		*update;
};

static struct layer layers[3];
#define N_LAYERS (sizeof(layers) / sizeof(layers[0]))

static struct mindprof_site *weight_memory(void)
{
	return MINDPROF_SITE(MINDPROF_SITE_MEMORY, "weights");
}

static struct mindprof_site *activation_memory(void)
{
	return MINDPROF_SITE(MINDPROF_SITE_MEMORY, "activations");
}

/* An operator of layer fc<number>: its shapes are known now, so an execution costs no more than a range. */
MINDPROF_PRINTF(5, 6)
static struct mindprof_site *layer_op(size_t number, const char *suffix, const char *type, double flops,
				      const char *shapes, ...)
{
	char name[128], shape_text[64];
	struct mindprof_op op = {.size = sizeof(op),
				 .name = name,
				 .type = type,
				 .shapes = shape_text,
				 .dtypes = strchr(shapes, ';') ? "Float32;Float32" : "Float32",
				 .device = "CPU",
				 .stream = -1,
				 .flops = flops};
	va_list arguments;

	snprintf(name, sizeof(name), "Default/network/fc%zu-Dense/%s%s", number, type, suffix);
	va_start(arguments, shapes);
	vsnprintf(shape_text, sizeof(shape_text), shapes, arguments);
	va_end(arguments);
	return mindprof_op_site(&op);
}

static void layer_init(size_t number, size_t in, size_t out, bool relu)
{
	struct layer *l = &layers[number - 1];
	struct mindprof_site *memory = weight_memory();
	size_t n = (size_t)options.batch;
	double flops = 2.0 * (double)n * (double)in * (double)out;
	uint64_t random = number;

	l->relu = relu;
	l->weight = matrix_new(memory, in, out);
	l->weight_grad = matrix_new(memory, in, out);
	l->weight_velocity = matrix_new(memory, in, out);
	l->bias = matrix_new(memory, 1, out);
	l->bias_grad = matrix_new(memory, 1, out);
	l->bias_velocity = matrix_new(memory, 1, out);
	for (size_t i = 0; i < in * out; i++)
		l->weight.data[i] = random_uniform(&random) * sqrtf(3.0f / (float)in);

	l->matmul = layer_op(number, "", "MatMul", flops, "%zu,%zu;%zu,%zu", n, in, in, out);
	l->bias_add = layer_op(number, relu ? "ReLU" : "", "BiasAdd", (double)(n * out), "%zu,%zu;%zu", n,
			       out, out);
	l->matmul_weight_grad =
		layer_op(number, "-weight_grad", "MatMul", flops, "%zu,%zu;%zu,%zu", in, n, n, out);
	l->bias_grad_op = layer_op(number, "", "BiasAddGrad", (double)(n * out), "%zu,%zu", n, out);
	l->matmul_input_grad =
		layer_op(number, "-input_grad", "MatMul", flops, "%zu,%zu;%zu,%zu", n, out, out, in);
	l->update = layer_op(number, "", "ApplyMomentum", 4.0 * (double)((in + 1) * out), "%zu,%zu", in, out);
}

static void layer_free(struct layer *l)
{
	matrix_free(weight_memory(), &l->weight);
	matrix_free(weight_memory(), &l->weight_grad);
	matrix_free(weight_memory(), &l->weight_velocity);
	matrix_free(weight_memory(), &l->bias);
	matrix_free(weight_memory(), &l->bias_grad);
	matrix_free(weight_memory(), &l->bias_velocity);
}

static void layer_forward(struct layer *l, struct matrix input)
{
	struct mindprof_range range;

	l->output = matrix_new(activation_memory(), input.rows, l->weight.cols);
	multiply(l->matmul, input, l->weight, l->output);

	range = mindprof_op_begin(l->bias_add);
	for (size_t i = 0; i < l->output.rows; i++) {
		float *row = l->output.data + i * l->output.cols;

		for (size_t j = 0; j < l->output.cols; j++) {
			row[j] += l->bias.data[j];
			if (l->relu && row[j] < 0.0f)
				row[j] = 0.0f;
		}
	}
	mindprof_op_end(&range);
}

/* Takes output_grad; fills weight_grad, bias_grad and, unless NULL, the gradient of the input. */
static void layer_backward(struct layer *l, struct matrix input, struct matrix *input_grad)
{
	struct mindprof_range range = mindprof_op_begin(l->bias_grad_op);

	memset(l->bias_grad.data, 0, l->bias_grad.cols * sizeof(float));
	for (size_t i = 0; i < l->output.rows; i++)
		for (size_t j = 0; j < l->output.cols; j++) {
			size_t at = i * l->output.cols + j;

			if (l->relu && l->output.data[at] <= 0.0f)
				l->output_grad.data[at] = 0.0f;
			l->bias_grad.data[j] += l->output_grad.data[at];
		}
	mindprof_op_end(&range);

	multiply(l->matmul_weight_grad, transposed(input), l->output_grad, l->weight_grad);
	if (input_grad) {
		*input_grad = matrix_new(activation_memory(), input.rows, input.cols);
		multiply(l->matmul_input_grad, l->output_grad, transposed(l->weight), *input_grad);
	}
	matrix_free(activation_memory(), &l->output_grad);
	matrix_free(activation_memory(), &l->output);
}

/* Stochastic gradient descent with momentum. */
static void update(struct matrix weight, struct matrix grad, struct matrix velocity)
{
	for (size_t i = 0; i < weight.rows * weight.cols; i++) {
		velocity.data[i] = MOMENTUM * velocity.data[i] + grad.data[i];
		weight.data[i] -= LEARNING_RATE * velocity.data[i];
	}
}

/* Mean cross entropy of softmax(scores); its gradient goes to the last layer's output_grad. */
static double loss_and_gradient(struct layer *last, const int *labels)
{
	size_t rows = last->output.rows;
	double sum = 0.0;

	MINDPROF_SCOPE("loss");
	last->output_grad = matrix_new(activation_memory(), rows, CLASSES);
	for (size_t i = 0; i < rows; i++) {
		const float *score = last->output.data + i * CLASSES;
		float *grad = last->output_grad.data + i * CLASSES;
		float top = score[0], total = 0.0f;

		for (size_t j = 1; j < CLASSES; j++)
			top = fmaxf(top, score[j]);
		for (size_t j = 0; j < CLASSES; j++)
			total += grad[j] = expf(score[j] - top);
		for (size_t j = 0; j < CLASSES; j++)
			grad[j] /= total * (float)rows;
		sum -= log(fmax((double)grad[labels[i]] * (double)rows, 1e-30));
		grad[labels[i]] -= 1.0f / (float)rows;
	}
	return sum / (double)rows;
}

/* ------------------------------------------------------------------ training */

static double train(const struct batch *batch)
{
	double loss = 0.0;

	MINDPROF_RANGE ("forward") {
		layer_forward(&layers[0], batch->samples);
		for (size_t i = 1; i < N_LAYERS; i++)
			layer_forward(&layers[i], layers[i - 1].output);
		loss = loss_and_gradient(&layers[N_LAYERS - 1], batch->labels);
	}
	MINDPROF_RANGE ("backward") {
		for (size_t i = N_LAYERS - 1; i > 0; i--)
			layer_backward(&layers[i], layers[i - 1].output, &layers[i - 1].output_grad);
		layer_backward(&layers[0], batch->samples, NULL);
	}
	MINDPROF_RANGE ("optimizer") {
		for (size_t i = 0; i < N_LAYERS; i++) {
			struct layer *l = &layers[i];
			struct mindprof_range range = mindprof_op_begin(l->update);

			update(l->weight, l->weight_grad, l->weight_velocity);
			update(l->bias, l->bias_grad, l->bias_velocity);
			mindprof_op_end(&range);
		}
	}
	MINDPROF_COUNTER("loss", loss);
	return loss;
}

static void write_checkpoint(FILE *file)
{
	MINDPROF_SCOPE("checkpoint");
	rewind(file);
	for (size_t i = 0; i < N_LAYERS; i++) {
		struct layer *l = &layers[i];

		fwrite(l->weight.data, sizeof(float), l->weight.rows * l->weight.cols, file);
		fwrite(l->bias.data, sizeof(float), l->bias.cols, file);
	}
	if (fflush(file) != 0)
		perror("train_mlp: cannot write the checkpoint");
	MINDPROF_MARK("checkpoint written");
}

/* The faults that the switches ask for, so that a report has something to find. */
static void misbehave(long step)
{
	static void *leaked; /* each block points to the one before it */

	if (step == options.slow_step) {
		MINDPROF_SCOPE("unexpected pause");
		sleep_ms(options.slow_step_ms);
	}
	if (options.leak_bytes > 0) {
		void **block = must(malloc((size_t)options.leak_bytes));

		*block = leaked;
		leaked = block;
		mindprof_memory_alloc(MINDPROF_SITE(MINDPROF_SITE_MEMORY, "leak"), block,
				      (uint64_t)options.leak_bytes);
	}
}

/* Runs all steps; returns whether the loss of the last quarter is below that of the first. */
static bool train_all(void)
{
	FILE *checkpoint = must(options.checkpoint ? fopen(options.checkpoint, "wb") : tmpfile());
	long quarter = (options.steps + 3) / 4;
	double first = 0.0, last = 0.0;

	for (long step = 1; step <= options.steps; step++) {
		struct batch *batch = NULL;
		double loss;

		mindprof_step((uint64_t)step);
		MINDPROF_RANGE ("next batch") {
			batch = queue_pop();
			mindprof_flow_end(batch_flow(), (uint64_t)batch->number);
		}
		loss = train(batch);
		batch_free(batch);
		misbehave(step);
		if (step % options.checkpoint_every == 0)
			write_checkpoint(checkpoint);
		if (step == 1 || step % 10 == 0 || step == options.steps)
			printf("step %4ld  loss %.4f\n", step, loss);
		first += step <= quarter ? loss : 0.0;
		last += step > options.steps - quarter ? loss : 0.0;
	}
	fclose(checkpoint);
	return last < first;
}

/* ---------------------------------------------------------------------- main */

static const char help[] =
	"Usage: train_mlp [OPTION...]\n"
	"Trains a small perceptron on synthetic data and annotates what it does for MindProf.\n\n"
	"  --steps N             training steps, at least 2 (60)\n"
	"  --batch N             samples per step (128)\n"
	"  --hidden N            width of the hidden layers (256)\n"
	"  --threads N           threads for matrix products, the main one included (2)\n"
	"  --checkpoint FILE     where to write the weights (a temporary file)\n"
	"  --checkpoint-every N  steps between two checkpoints (20)\n"
	"  --slow-loader MS      the loader sleeps this long for each batch\n"
	"  --slow-step K[:MS]    step K sleeps this long (100)\n"
	"  --leak BYTES          memory lost in each step\n"
	"  --record              record this run, without 'mindprof record'\n"
	"  --output DIR          where --record writes (data)\n"
	"  --help                this text\n";

static _Noreturn void wrong_usage(const char *option, const char *value)
{
	fprintf(stderr, "train_mlp: '%s' is not a valid value of --%s; see train_mlp --help\n", value,
		option);
	exit(2);
}

static long number(const char *option, const char *text, long least, long most)
{
	char *end;
	long value = strtol(text, &end, 10);

	if (end == text || *end || value < least || value > most)
		wrong_usage(option, text);
	return value;
}

/* K or K:MS */
static void parse_slow_step(char *text)
{
	char *colon = strchr(text, ':');

	if (colon) {
		*colon = '\0';
		options.slow_step_ms = number("slow-step", colon + 1, 0, 3600000);
	}
	options.slow_step = number("slow-step", text, 1, 1000000000);
}

static void parse_option(const char *name, char *value)
{
	const struct {
		const char *name;
		long *target, least, most;
	} numbers[] = {
		{"steps", &options.steps, 2, 1000000000},
		{"batch", &options.batch, 1, 65536},
		{"hidden", &options.hidden, 1, 65536},
		{"threads", &options.threads, 1, MAX_THREADS},
		{"checkpoint-every", &options.checkpoint_every, 1, 1000000000},
		{"slow-loader", &options.slow_loader_ms, 0, 3600000},
		{"leak", &options.leak_bytes, (long)sizeof(void *), 1L << 30},
	};

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		if (strcmp(name, numbers[i].name) == 0)
			*numbers[i].target = number(name, value, numbers[i].least, numbers[i].most);
	if (strcmp(name, "slow-step") == 0)
		parse_slow_step(value);
	else if (strcmp(name, "checkpoint") == 0)
		options.checkpoint = value;
	else if (strcmp(name, "output") == 0)
		options.output = value;
	else if (strcmp(name, "record") == 0)
		options.record = true;
	else if (strcmp(name, "help") == 0) {
		fputs(help, stdout);
		exit(0);
	}
}

static void parse_arguments(int argc, char **argv)
{
	static const struct option names[] = {
		{"steps", required_argument, NULL, 0},
		{"batch", required_argument, NULL, 0},
		{"hidden", required_argument, NULL, 0},
		{"threads", required_argument, NULL, 0},
		{"checkpoint", required_argument, NULL, 0},
		{"checkpoint-every", required_argument, NULL, 0},
		{"slow-loader", required_argument, NULL, 0},
		{"slow-step", required_argument, NULL, 0},
		{"leak", required_argument, NULL, 0},
		{"record", no_argument, NULL, 0},
		{"output", required_argument, NULL, 0},
		{"help", no_argument, NULL, 0},
		{NULL, 0, NULL, 0},
	};
	int index, found;

	while ((found = getopt_long(argc, argv, "", names, &index)) == 0)
		parse_option(names[index].name, optarg);
	if (found != -1 || optind < argc) {
		fprintf(stderr, "train_mlp: wrong usage; see train_mlp --help\n");
		exit(2);
	}
}

/* For a program that decides by itself when to record. */
static void start_recording(void)
{
	struct mindprof_record_options record = {.size = sizeof(record), .output_path = options.output};
	struct mindprof_error error = {0};
	char text[512];

	if (mindprof_record_start(&record, &error) != MINDPROF_OK)
		fprintf(stderr, "train_mlp: not recorded: %s\n",
			mindprof_error_text(&error, text, sizeof(text)));
}

static void stop_recording(void)
{
	struct mindprof_error error = {0};
	char text[4096];

	if (mindprof_record_stop(&error) != MINDPROF_OK)
		fprintf(stderr, "train_mlp: %s\n", mindprof_error_text(&error, text, sizeof(text)));
	else if (mindprof_record_directory(text, sizeof(text)) > 0)
		printf("recorded in %s\n", text);
}

int main(int argc, char **argv)
{
	pthread_t loader;
	char model[128];
	bool learned;

	parse_arguments(argc, argv);
	if (options.record)
		start_recording();

	mindprof_process_name("train_mlp");
	mindprof_thread_name("training loop");
	snprintf(model, sizeof(model), "{\"layers\":%zu,\"hidden\":%ld,\"batch\":%ld}", N_LAYERS,
		 options.hidden, options.batch);
	mindprof_metadata("model", model);

	layer_init(1, INPUTS, (size_t)options.hidden, true);
	layer_init(2, (size_t)options.hidden, (size_t)options.hidden, true);
	layer_init(3, (size_t)options.hidden, CLASSES, false);
	workers_start();
	if (pthread_create(&loader, NULL, loader_main, NULL) != 0)
		must(NULL);

	learned = train_all();

	pthread_join(loader, NULL);
	workers_stop();
	for (size_t i = 0; i < N_LAYERS; i++)
		layer_free(&layers[i]);
	if (options.record)
		stop_recording();
	printf("%s\n", learned ? "the loss fell" : "the loss did not fall");
	return learned ? 0 : 1;
}
