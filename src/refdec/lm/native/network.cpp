// A Llama-shaped network in int8 on a CPU: features of tokens after shared prefixes, and logits of features.
//
// The same source is compiled once for each set of instructions (see build.py) and called through ctypes. It computes
// what TorchNetwork computes in int8: weights with one scale per row, inputs rounded to int8 with one scale per token,
// exact sums in int32, everything else in float32. The result of a row depends neither on the other rows nor on the
// number of threads. Nothing here allocates for the caller, and no pointer is kept after a call.

#include <immintrin.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace {

constexpr int GROUP = 64;  // outputs of a task
constexpr int LANES = 16;  // floats of a vector

// Outputs whose weights lie side by side: as many as are read at once, so that memory is read from front to back.
#if defined(__AVX512VNNI__)
constexpr int PACKED = GROUP;
#else
constexpr int PACKED = LANES;
#endif

// The instructions multiply unsigned with signed bytes. With VNNI weights are stored without a sign, and what the offset
// adds to a sum is subtracted again. Without it two products are added in 16 bits, which is exact if neither factor is
// over 127: there inputs lose their sign, and weights take it over while they are multiplied.
#if defined(__AVX512VNNI__) || defined(__AVXVNNI__)
constexpr int OFFSET = 128;
#else
constexpr int OFFSET = 0;
#endif

typedef float Floats __attribute__((vector_size(4 * LANES), aligned(4)));
typedef int32_t Ints __attribute__((vector_size(4 * LANES), aligned(4)));

inline Floats load(const float* from) { return *reinterpret_cast<const Floats*>(from); }
inline void store(float* to, Floats value) { *reinterpret_cast<Floats*>(to) = value; }
inline Floats all(float value) { return value - Floats{}; }

inline float sum(Floats x) {
    typedef float Half __attribute__((vector_size(32), aligned(4)));
    typedef float Quarter __attribute__((vector_size(16), aligned(4)));
    Half halves[2];
    std::memcpy(halves, &x, sizeof x);
    Half half = halves[0] + halves[1];
    Quarter quarters[2];
    std::memcpy(quarters, &half, sizeof half);
    Quarter quarter = quarters[0] + quarters[1];
    return (quarter[0] + quarter[1]) + (quarter[2] + quarter[3]);
}

// e to the power of x, with a relative error of about 1e-7; 0 for what underflows.
inline Floats exponential(Floats x) {
    x = x < -87.0f ? all(-87.0f) : x;
    x = x > 88.0f ? all(88.0f) : x;
    const Floats shift = all(12582912.0f);  // 1.5 * 2^23: adding it rounds to a whole number
    Floats whole = x * 1.44269504f + shift;
    Ints bits;
    std::memcpy(&bits, &whole, sizeof bits);
    whole = whole - shift;
    Floats rest = x - whole * 0.693145752f - whole * 1.42860677e-6f;
    Floats value = all(1.38888889e-3f);
    value = value * rest + 8.33333333e-3f;
    value = value * rest + 4.16666667e-2f;
    value = value * rest + 1.66666667e-1f;
    value = value * rest + 0.5f;
    value = value * rest + 1.0f;
    value = value * rest + 1.0f;
    Ints scaled;
    std::memcpy(&scaled, &value, sizeof scaled);
    scaled += bits << 23;  // the low bits of the shifted number are the exponent
    std::memcpy(&value, &scaled, sizeof value);
    return value;
}

// Threads that share the tasks of one call after another. Tasks are taken one by one, and nobody waits for a thread that
// has not come: where the machine is busy with other things, the caller does all of the work itself.
class Pool {
  public:
    void run(int threads, int tasks, const std::function<void(int)>& task) {
        if (threads <= 1 || tasks <= 1 || !busy_.try_lock()) {  // another model's call has the threads
            for (int number = 0; number < tasks; number++) task(number);
            return;
        }
        while (started_ < threads - 1) std::thread([this, number = started_++] { work(number); }).detach();
        task_ = &task;
        tasks_ = tasks;
        helpers_ = threads - 1;
        next_.store(0);
        left_.store(0);
        long round = (joined_.load() >> SHIFT) + 1;
        {
            std::lock_guard<std::mutex> lock(mutex_);  // so that no thread misses it on its way to sleep
            joined_.store(round << SHIFT);
        }
        if (sleeping_.load() > 0) wake_.notify_all();
        take();
        long joined = joined_.fetch_or(CLOSED) & (CLOSED - 1);
        for (int spins = 0; left_.load(std::memory_order_acquire) < joined; spins++) {
            if (spins > 4000) std::this_thread::yield();
            else _mm_pause();
        }
        busy_.unlock();
    }

  private:
    static constexpr int SHIFT = 17;
    static constexpr long CLOSED = 1L << (SHIFT - 1);

    void take() {
        for (int number; (number = next_.fetch_add(1)) < tasks_;) (*task_)(number);
    }

    void work(int number) {
        long seen = 0;
        while (true) {
            for (int spins = 0; joined_.load() >> SHIFT == seen && spins < 20000; spins++) _mm_pause();
            if (joined_.load() >> SHIFT == seen) {
                std::unique_lock<std::mutex> lock(mutex_);
                sleeping_.fetch_add(1);
                wake_.wait(lock, [&] { return joined_.load() >> SHIFT != seen; });
                sleeping_.fetch_sub(1);
            }
            long state = joined_.load();
            seen = state >> SHIFT;
            while (!(state & CLOSED) && state >> SHIFT == seen)
                if (joined_.compare_exchange_weak(state, state + 1)) {
                    if (number < helpers_) take();
                    left_.fetch_add(1, std::memory_order_release);
                    break;
                }
        }
    }

    std::mutex busy_, mutex_;
    std::condition_variable wake_;
    const std::function<void(int)>* task_ = nullptr;
    int tasks_ = 0, helpers_ = 0, started_ = 0;
    std::atomic<int> next_{0}, left_{0}, sleeping_{0};
    std::atomic<long> joined_{0};  // the number of the round, whether it is closed, and the threads that joined it
};

Pool* pool = new Pool;  // never destroyed: its threads may outlive the objects of a program that ends

// Memory that a thread keeps between calls.
struct Scratch {
    std::vector<float> stream, wide, narrow, scores;
    std::vector<int8_t> rounded;
    std::vector<float> scales;
    std::vector<int32_t> sums;
};

template <class Item>
Item* sized(std::vector<Item>& memory, size_t count) {
    if (memory.size() < count) memory.resize(count);
    return memory.data();
}

}  // namespace

extern "C" {

struct Matrix {
    int32_t inputs, outputs;
    const uint8_t* packed;  // (outputs / PACKED, inputs / 4, PACKED, 4), filled up with the offset
    const float* scales;    // (outputs, rounded up to 64)
};

struct Layer {
    const float *attention_norm, *inner_norm;
    Matrix qkv, output, gate_up, down;  // gates and values of gate_up take turns, 16 by 16
};

struct Network {
    int32_t layers, width, inner, heads, kv_heads, head_size, vocabulary;
    float epsilon;
    const float *cosine, *sine;  // (window, head_size / 2)
    const float *embedding;      // (vocabulary, width)
    const float* final_norm;
    const Layer* each;
    Matrix head;
};

struct Prefixes {
    const float *keys, *values;  // (layers, prefixes, kv_heads, places, head_size)
    int32_t count, places;
    const int32_t *index, *lengths;  // (rows,) and (prefixes,)
};

struct Tail {
    float *keys, *values;  // (layers, rows, kv_heads, capacity, head_size)
    int32_t capacity, filled;
};

}  // extern "C"

namespace {

inline int padded(int inputs) { return (inputs + LANES - 1) / LANES * LANES; }

// Tokens rounded to int8, with the scale and the sum of each.
struct Rounded {
    int8_t* values;
    float* scales;
    int32_t* sums;
    int stride;
};

Rounded rounded(Scratch& scratch, int tokens, int inputs) {
    int stride = padded(inputs);
    return {sized(scratch.rounded, static_cast<size_t>(tokens) * stride), sized(scratch.scales, tokens),
            sized(scratch.sums, tokens), stride};
}

void round_row(const float* row, int inputs, const Rounded& to, int token) {
    int8_t* out = to.values + static_cast<size_t>(token) * to.stride;
    int whole = inputs / LANES * LANES;
    Floats most = {};
    for (int i = 0; i < whole; i += LANES) {
        Floats x = load(row + i);
        x = x < 0 ? -x : x;
        most = x > most ? x : most;
    }
    float largest = 1e-20f;
    for (int lane = 0; lane < LANES; lane++) largest = std::max(largest, most[lane]);
    for (int i = whole; i < inputs; i++) largest = std::max(largest, std::fabs(row[i]));
    float scale = largest / 127.0f;
    const Floats divisor = all(scale), shift = all(12582912.0f);
    Ints total = {};
    for (int i = 0; i < whole; i += LANES) {
        Floats x = load(row + i) / divisor + shift;  // rounds halves to even
        Ints bits;
        std::memcpy(&bits, &x, sizeof bits);
        bits -= 0x4B400000;
        total += bits;
        typedef int8_t Bytes __attribute__((vector_size(LANES), aligned(1)));
        *reinterpret_cast<Bytes*>(out + i) = __builtin_convertvector(bits, Bytes);
    }
    int32_t added = 0;
    for (int lane = 0; lane < LANES; lane++) added += total[lane];
    for (int i = whole; i < to.stride; i++) {
        out[i] = i < inputs ? static_cast<int8_t>(std::nearbyint(row[i] / scale)) : 0;
        added += out[i];
    }
    to.scales[token] = scale;
    to.sums[token] = added;
}

// The row over its root mean square, times the weight.
void normalise(const float* row, const float* weight, int width, float epsilon, float* out) {
    Floats squares = {};
    int whole = width / LANES * LANES;
    for (int i = 0; i < whole; i += LANES) squares += load(row + i) * load(row + i);
    float total = sum(squares);
    for (int i = whole; i < width; i++) total += row[i] * row[i];
    float factor = 1.0f / std::sqrt(total / static_cast<float>(width) + epsilon);
    for (int i = 0; i < whole; i += LANES) store(out + i, load(row + i) * factor * load(weight + i));
    for (int i = whole; i < width; i++) out[i] = row[i] * factor * weight[i];
}

// Sums of products of ROWS tokens with the 64 outputs of a group, as int32: (ROWS, 64).
#if defined(__AVX512VNNI__)

constexpr int TILE = 6;

template <int ROWS>
inline void multiply_tile(const int8_t* tokens, int stride, const uint8_t* weights, int steps, int32_t* out) {
    __m512i sums[ROWS][4];
    for (auto& row : sums)
        for (auto& part : row) part = _mm512_setzero_si512();
    for (int step = 0; step < steps; step++) {
        __m512i part[4];
        for (int i = 0; i < 4; i++) part[i] = _mm512_loadu_si512(weights + 256 * step + 64 * i);
#pragma GCC unroll 6
        for (int row = 0; row < ROWS; row++) {
            int32_t four;
            std::memcpy(&four, tokens + row * stride + 4 * step, 4);
            __m512i inputs = _mm512_set1_epi32(four);
            for (int i = 0; i < 4; i++) sums[row][i] = _mm512_dpbusd_epi32(sums[row][i], part[i], inputs);
        }
    }
    for (int row = 0; row < ROWS; row++)
        for (int i = 0; i < 4; i++) _mm512_storeu_si512(out + GROUP * row + LANES * i, sums[row][i]);
}

#else

#if defined(__AVXVNNI__)
constexpr int TILE = 6;
#else
constexpr int TILE = 4;  // more rows than registers hold are slower
#endif

inline __m256i add_products(__m256i sums, __m256i weights, __m256i inputs) {
#if defined(__AVXVNNI__)
    return _mm256_dpbusd_avx_epi32(sums, weights, inputs);
#else
    __m256i pairs = _mm256_maddubs_epi16(_mm256_abs_epi8(inputs), _mm256_sign_epi8(weights, inputs));
    return _mm256_add_epi32(sums, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
#endif
}

template <int ROWS>
inline void multiply_tile(const int8_t* tokens, int stride, const uint8_t* weights, int steps, int32_t* out) {
    for (int part = 0; part < 4; part++) {
        __m256i sums[ROWS][2];
        for (auto& row : sums) row[0] = row[1] = _mm256_setzero_si256();
        for (int step = 0; step < steps; step++) {
            const __m256i* from = reinterpret_cast<const __m256i*>(weights + 64 * (part * steps + step));
            __m256i first = _mm256_loadu_si256(from), second = _mm256_loadu_si256(from + 1);
#pragma GCC unroll 6
            for (int row = 0; row < ROWS; row++) {
                int32_t four;
                std::memcpy(&four, tokens + row * stride + 4 * step, 4);
                __m256i inputs = _mm256_set1_epi32(four);
                sums[row][0] = add_products(sums[row][0], first, inputs);
                sums[row][1] = add_products(sums[row][1], second, inputs);
            }
        }
        for (int row = 0; row < ROWS; row++) {
            __m256i* to = reinterpret_cast<__m256i*>(out + GROUP * row + LANES * part);
            _mm256_storeu_si256(to, sums[row][0]);
            _mm256_storeu_si256(to + 1, sums[row][1]);
        }
    }
}

#endif

void multiply_rows(int rows, const int8_t* tokens, int stride, const uint8_t* weights, int steps, int32_t* out) {
    switch (rows) {
        case 1: return multiply_tile<1>(tokens, stride, weights, steps, out);
        case 2: return multiply_tile<2>(tokens, stride, weights, steps, out);
        case 3: return multiply_tile<3>(tokens, stride, weights, steps, out);
        case 4: return multiply_tile<4>(tokens, stride, weights, steps, out);
        case 5: return multiply_tile<5>(tokens, stride, weights, steps, out);
        case 6: return multiply_tile<6>(tokens, stride, weights, steps, out);
    }
}

enum class Into { replace, add, gate };

// Products of rounded tokens with a matrix: put into `out`, added to it, or gated: silu(gate) * value.
void multiply(const Matrix& matrix, const Rounded& inputs, int tokens, float* out, int stride, Into into, int threads) {
    int groups = (matrix.outputs + GROUP - 1) / GROUP, steps = (matrix.inputs + 3) / 4;
    constexpr int BLOCK = 8 * TILE;  // tokens of a task
    int blocks = (tokens + BLOCK - 1) / BLOCK;
    pool->run(threads, groups * blocks, [&](int number) {
        int group = number / blocks, from = number % blocks * BLOCK, to = std::min(tokens, from + BLOCK);
        const uint8_t* weights = matrix.packed + static_cast<size_t>(group) * steps * 4 * GROUP;
        const float* scales = matrix.scales + group * GROUP;
        int columns = std::min(GROUP, matrix.outputs - group * GROUP);
        alignas(64) int32_t sums[TILE * GROUP];
        for (int first = from; first < to; first += TILE) {
            int rows = std::min(TILE, to - first);
            multiply_rows(rows, inputs.values + static_cast<size_t>(first) * inputs.stride, inputs.stride, weights,
                          steps, sums);
            for (int row = 0; row < rows; row++) {
                int token = first + row;
                int32_t extra = OFFSET * inputs.sums[token];
                Floats products[4];
                for (int i = 0; i < 4; i++) {
                    Ints exact;
                    std::memcpy(&exact, sums + GROUP * row + LANES * i, sizeof exact);
                    products[i] = __builtin_convertvector(exact - extra, Floats) * load(scales + LANES * i) *
                                  inputs.scales[token];
                }
                float* place = out + static_cast<size_t>(token) * stride;
                if (into == Into::gate) {
                    for (int i = 0; i < columns / (2 * LANES); i++) {
                        Floats gate = products[2 * i];
                        store(place + group * GROUP / 2 + LANES * i,
                              gate / (1.0f + exponential(-gate)) * products[2 * i + 1]);
                    }
                } else {
                    place += group * GROUP;
                    if (columns == GROUP) {
                        for (int i = 0; i < 4; i++)
                            store(place + LANES * i,
                                  into == Into::add ? load(place + LANES * i) + products[i] : products[i]);
                    } else {
                        float values[GROUP];
                        std::memcpy(values, products, sizeof values);
                        for (int i = 0; i < columns; i++)
                            place[i] = into == Into::add ? place[i] + values[i] : values[i];
                    }
                }
            }
        }
    });
}

// Rows of a pass, in blocks that are worth a task.
void each_token(int tokens, int threads, const std::function<void(int)>& task) {
    constexpr int BLOCK = 8;
    pool->run(threads, (tokens + BLOCK - 1) / BLOCK, [&](int number) {
        int end = std::min(tokens, (number + 1) * BLOCK);
        for (int token = number * BLOCK; token < end; token++) task(token);
    });
}

inline void turn(float* head, const float* cosine, const float* sine, int half) {
    for (int i = 0; i < half; i++) {
        float first = head[i], second = head[half + i];
        head[i] = first * cosine[i] - second * sine[i];
        head[half + i] = second * cosine[i] + first * sine[i];
    }
}

// Scores of HEADS queries, (HEADS, size), with `count` keys: (HEADS, most).
template <int HEADS>
void score_keys(const float* queries, const float* keys, int count, int size, float* scores, int most) {
    for (int place = 0; place < count; place++) {
        Floats sums[HEADS] = {};
        for (int i = 0; i < size; i += LANES) {
            Floats key = load(keys + static_cast<size_t>(place) * size + i);
            for (int head = 0; head < HEADS; head++) sums[head] += load(queries + head * size + i) * key;
        }
        for (int head = 0; head < HEADS; head++) scores[head * most + place] = sum(sums[head]);
    }
}

// Values weighted by the scores of HEADS queries, added to out: (HEADS, size).
template <int HEADS>
void mix_values(const float* scores, int most, const float* values, int count, int size, float* out) {
    for (int i = 0; i < size; i += LANES) {
        Floats sums[HEADS];
        for (int head = 0; head < HEADS; head++) sums[head] = load(out + head * size + i);
        for (int place = 0; place < count; place++) {
            Floats value = load(values + static_cast<size_t>(place) * size + i);
            for (int head = 0; head < HEADS; head++) sums[head] += scores[head * most + place] * value;
        }
        for (int head = 0; head < HEADS; head++) store(out + head * size + i, sums[head]);
    }
}

// Some key and value heads serve many query heads: these are computed three, two or one at a time.
template <class Work>
void by_heads(int heads, Work work) {
    int head = 0;
    for (; head + 3 <= heads; head += 3) work(std::integral_constant<int, 3>(), head);
    if (heads - head == 2) work(std::integral_constant<int, 2>(), head);
    if (heads - head == 1) work(std::integral_constant<int, 1>(), head);
}

void softmax(float* scores, int count) {
    float most = scores[0];
    for (int i = 1; i < count; i++) most = std::max(most, scores[i]);
    Floats total = {};
    int i = 0;
    for (; i + LANES <= count; i += LANES) {
        Floats weight = exponential(load(scores + i) - most);
        store(scores + i, weight);
        total += weight;
    }
    float sum_of_all = sum(total);
    if (i < count) {
        float rest[LANES];
        for (int lane = 0; lane < LANES; lane++) rest[lane] = i + lane < count ? scores[i + lane] - most : -87.0f;
        store(rest, exponential(load(rest)));
        for (int lane = 0; i + lane < count; lane++) sum_of_all += scores[i + lane] = rest[lane];
    }
    float share = 1.0f / sum_of_all;
    for (int k = 0; k < count; k++) scores[k] *= share;
}

// The queries of one row and of one key head, over its prefix and its tail: turns them, keeps keys and values, attends.
void attend(const Network& net, int layer, int rows, int n, int row, int kv_head, const int64_t* positions, float* qkv,
            const Prefixes& prefixes, const Tail& tail, float* out) {
    int size = net.head_size, half = size / 2, group = net.heads / net.kv_heads;
    int line = (net.heads + 2 * net.kv_heads) * size;
    size_t own = ((static_cast<size_t>(layer) * rows + row) * net.kv_heads + kv_head) * tail.capacity * size;
    float *keys = tail.keys + own, *values = tail.values + own;
    const float *before = nullptr, *values_before = nullptr;
    int seen = 0;
    if (prefixes.count) {
        int prefix = prefixes.index[row];
        size_t place = ((static_cast<size_t>(layer) * prefixes.count + prefix) * net.kv_heads + kv_head) *
                       prefixes.places * size;
        before = prefixes.keys + place;
        values_before = prefixes.values + place;
        seen = prefixes.lengths[prefix];
    }
    static thread_local std::vector<float> memory;
    int most = seen + tail.filled + n;
    float* scores = sized(memory, static_cast<size_t>(group) * most);
    float factor = 1.0f / std::sqrt(static_cast<float>(size));
    for (int i = 0; i < n; i++) {
        size_t token = static_cast<size_t>(row) * n + i;
        const float *cosine = net.cosine + positions[token] * half, *sine = net.sine + positions[token] * half;
        float* line_start = qkv + token * line;
        float* queries = line_start + static_cast<size_t>(kv_head) * group * size;
        float* key = line_start + static_cast<size_t>(net.heads + kv_head) * size;
        turn(key, cosine, sine, half);
        for (int head = 0; head < group; head++) turn(queries + head * size, cosine, sine, half);
        for (int k = 0; k < group * size; k++) queries[k] *= factor;
        int filled = tail.filled + i;
        std::memcpy(keys + static_cast<size_t>(filled) * size, key, size * sizeof(float));
        std::memcpy(values + static_cast<size_t>(filled) * size,
                    line_start + static_cast<size_t>(net.heads + net.kv_heads + kv_head) * size, size * sizeof(float));
        int visible = seen + filled + 1;
        float* mixed = out + token * net.heads * size + static_cast<size_t>(kv_head) * group * size;
        std::memset(mixed, 0, static_cast<size_t>(group) * size * sizeof(float));
        by_heads(group, [&](auto heads, int head) {
            constexpr int HEADS = decltype(heads)::value;
            const float* some = queries + head * size;
            float* line_of_scores = scores + static_cast<size_t>(head) * most;
            score_keys<HEADS>(some, before, seen, size, line_of_scores, most);
            score_keys<HEADS>(some, keys, filled + 1, size, line_of_scores + seen, most);
            for (int k = 0; k < HEADS; k++) softmax(line_of_scores + k * most, visible);
            mix_values<HEADS>(line_of_scores, most, values_before, seen, size, mixed + head * size);
            mix_values<HEADS>(line_of_scores + seen, most, values, filled + 1, size, mixed + head * size);
        });
    }
}

}  // namespace

extern "C" {

// The digest of the source that this library was made of.
const char* refdec_source() { return REFDEC_SOURCE; }

// Rows of an int8 matrix (outputs, inputs) in the layout of Matrix.packed. Output i comes from row order[i].
void refdec_pack(const int8_t* rows, int outputs, int inputs, const int32_t* order, uint8_t* packed) {
    int steps = (inputs + 3) / 4, groups = (outputs + GROUP - 1) / GROUP;
    std::memset(packed, OFFSET, static_cast<size_t>(groups) * steps * 4 * GROUP);
    for (int output = 0; output < outputs; output++) {
        const int8_t* row = rows + static_cast<size_t>(order[output]) * inputs;
        uint8_t* to = packed + static_cast<size_t>(output / PACKED) * steps * 4 * PACKED + output % PACKED * 4;
        for (int i = 0; i < inputs; i++) to[static_cast<size_t>(i / 4) * 4 * PACKED + i % 4] = row[i] + OFFSET;
    }
}

// Features (rows * n, width) after tokens (rows, n), whose keys and values are written to the tail.
void refdec_run(const Network* network, int rows, int n, const int64_t* tokens, const int64_t* positions,
                const Prefixes* prefixes, const Tail* tail, float* features, int threads) {
    const Network& net = *network;
    static thread_local Scratch scratch;
    int count = rows * n, width = net.width, attended = net.heads * net.head_size;
    int line = attended + 2 * net.kv_heads * net.head_size;
    float* stream = sized(scratch.stream, static_cast<size_t>(count) * width);
    float* wide = sized(scratch.wide, static_cast<size_t>(count) * std::max(line, net.inner));
    float* narrow = sized(scratch.narrow, static_cast<size_t>(count) * std::max(attended, width));
    each_token(count, threads, [&](int token) {
        std::memcpy(stream + static_cast<size_t>(token) * width, net.embedding + tokens[token] * width,
                    width * sizeof(float));
    });
    auto normalised = [&](const float* weight) {
        Rounded to = rounded(scratch, count, width);
        each_token(count, threads, [&](int token) {
            float* row = narrow + static_cast<size_t>(token) * width;
            normalise(stream + static_cast<size_t>(token) * width, weight, width, net.epsilon, row);
            round_row(row, width, to, token);
        });
        return to;
    };
    auto as_int8 = [&](const float* from, int inputs) {
        Rounded to = rounded(scratch, count, inputs);
        each_token(count, threads,
                   [&](int token) { round_row(from + static_cast<size_t>(token) * inputs, inputs, to, token); });
        return to;
    };
    for (int number = 0; number < net.layers; number++) {
        const Layer& layer = net.each[number];
        multiply(layer.qkv, normalised(layer.attention_norm), count, wide, line, Into::replace, threads);
        pool->run(threads, rows * net.kv_heads, [&](int task) {
            attend(net, number, rows, n, task / net.kv_heads, task % net.kv_heads, positions, wide, *prefixes, *tail,
                   narrow);
        });
        multiply(layer.output, as_int8(narrow, attended), count, stream, width, Into::add, threads);
        multiply(layer.gate_up, normalised(layer.inner_norm), count, wide, net.inner, Into::gate, threads);
        multiply(layer.down, as_int8(wide, net.inner), count, stream, width, Into::add, threads);
    }
    each_token(count, threads, [&](int token) {
        size_t place = static_cast<size_t>(token) * width;
        normalise(stream + place, net.final_norm, width, net.epsilon, features + place);
    });
}

// Logits (count, vocabulary) of features (count, width).
void refdec_logits(const Network* network, int count, const float* features, float* logits, int threads) {
    static thread_local Scratch scratch;
    int width = network->width;
    Rounded inputs = rounded(scratch, count, width);
    each_token(count, threads,
               [&](int token) { round_row(features + static_cast<size_t>(token) * width, width, inputs, token); });
    multiply(network->head, inputs, count, logits, network->vocabulary, Into::replace, threads);
}

}  // extern "C"
