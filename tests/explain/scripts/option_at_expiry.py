"""The sensitivity of option prices to the volatility; one of them expires today."""

import math

import gradtape as tf

volatility = tf.Variable(0.2)
spot, strike, rate = tf.constant([100.0, 105.0, 98.0]), 100.0, 0.01
years = tf.constant([0.5, 0.0, 1.0])


def normal_cdf(x):
    return 0.5 * (1.0 + tf.math.erf(x / math.sqrt(2.0)))


def price():
    spread = volatility * tf.sqrt(years)
    d1 = (tf.math.log(spot / strike) + (rate + 0.5 * volatility**2) * years) / spread  # <- nan_origin
    d2 = d1 - spread
    return spot * normal_cdf(d1) - strike * tf.exp(-rate * years) * normal_cdf(d2)


def vega():
    with tf.GradientTape() as tape:
        value = tf.reduce_sum(price())
    return value, tape.gradient(value, volatility)


print(vega())
# Fix: tf.sqrt(years + 1e-12)
