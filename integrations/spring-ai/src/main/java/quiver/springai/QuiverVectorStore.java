package quiver.springai;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.springframework.ai.document.Document;
import org.springframework.ai.vectorstore.SearchRequest;
import org.springframework.ai.vectorstore.VectorStore;
import org.springframework.ai.vectorstore.filter.Filter;

/**
 * A vector store of Spring AI on a collection of Quiver. The service makes the vectors of texts, by the collection's
 * model: no EmbeddingModel is needed here.
 */
public final class QuiverVectorStore implements VectorStore {

  /** What a request holds at most. */
  private static final int BATCH = 1000;

  private final ObjectMapper json = new ObjectMapper();
  private final HttpClient http = HttpClient.newHttpClient();
  private final String url;
  private final String apiKey;
  private final String path;

  /**
   * @param url the service's address, such as http://localhost:8000
   * @param collection one that is there
   */
  public QuiverVectorStore(String url, String apiKey, String collection) {
    this.url = url.replaceAll("/+$", "");
    this.apiKey = apiKey;
    this.path = "/v1/collections/" + URLEncoder.encode(collection, StandardCharsets.UTF_8);
  }

  @Override
  public String getName() {
    return "quiver";
  }

  /** Documents with the id of one that is there replace it. */
  @Override
  public void add(List<Document> documents) {
    for (int start = 0; start < documents.size(); start += BATCH) {
      List<Map<String, Object>> items = new ArrayList<>();
      for (Document document : documents.subList(start, Math.min(start + BATCH, documents.size()))) {
        if (document.getText() == null) throw new IllegalArgumentException("document " + document.getId() + " has no text");
        items.add(
            Map.of("external_id", document.getId(), "text", document.getText(), "metadata", document.getMetadata()));
      }
      post("/bulk_upsert", Map.of("items", items));
    }
  }

  @Override
  public void delete(List<String> ids) {
    for (int start = 0; start < ids.size(); start += BATCH)
      post("/delete_batch", Map.of("external_ids", ids.subList(start, Math.min(start + BATCH, ids.size()))));
  }

  @Override
  public void delete(Filter.Expression expression) {
    post("/delete_by_filter", Map.of("filters", filters(expression)));
  }

  @Override
  public List<Document> similaritySearch(SearchRequest request) {
    Map<String, Object> body = new LinkedHashMap<>();
    body.put("text", request.getQuery());
    body.put("k", request.getTopK());
    body.put("include_text", true);
    if (request.getSimilarityThreshold() > 0) body.put("min_score", request.getSimilarityThreshold());
    if (request.getFilterExpression() != null) body.put("filters", filters(request.getFilterExpression()));
    List<Document> found = new ArrayList<>();
    for (JsonNode hit : post("/search", body).get("results"))
      found.add(
          Document.builder()
              .id(hit.get("external_id").asText())
              .text(hit.get("text").asText())
              .metadata(metadataOf(hit.get("metadata")))
              .score(hit.get("score").asDouble())
              .build());
    return found;
  }

  @SuppressWarnings("unchecked")
  private Map<String, Object> metadataOf(JsonNode metadata) {
    return json.convertValue(metadata, Map.class);
  }

  /** A filter of Spring AI as one of Quiver. */
  static Map<String, Object> filters(Filter.Operand operand) {
    if (operand instanceof Filter.Group group) return filters(group.content());
    Filter.Expression expression = (Filter.Expression) operand;
    return switch (expression.type()) {
      case AND -> Map.of("$and", List.of(filters(expression.left()), filters(expression.right())));
      case OR -> Map.of("$or", List.of(filters(expression.left()), filters(expression.right())));
      case NOT -> Map.of("$not", filters(expression.left()));
      case EQ -> condition(expression, "$eq");
      case NE -> condition(expression, "$ne");
      case GT -> condition(expression, "$gt");
      case GTE -> condition(expression, "$gte");
      case LT -> condition(expression, "$lt");
      case LTE -> condition(expression, "$lte");
      case IN -> condition(expression, "$in");
      case NIN -> condition(expression, "$nin");
      case ISNULL -> Map.of(keyOf(expression), Map.of("$empty", true));
      case ISNOTNULL -> Map.of(keyOf(expression), Map.of("$empty", false));
    };
  }

  private static Map<String, Object> condition(Filter.Expression expression, String operator) {
    return Map.of(keyOf(expression), Map.of(operator, ((Filter.Value) expression.right()).value()));
  }

  private static String keyOf(Filter.Expression expression) {
    return ((Filter.Key) expression.left()).key();
  }

  /** The data of the answer. Throws an IllegalStateException with what the service says for a failure. */
  private JsonNode post(String operation, Object body) {
    try {
      HttpRequest request =
          HttpRequest.newBuilder(URI.create(url + path + operation))
              .timeout(Duration.ofMinutes(1))
              .header("x-api-key", apiKey)
              .header("content-type", "application/json")
              .POST(BodyPublishers.ofString(json.writeValueAsString(body)))
              .build();
      JsonNode answer = json.readTree(http.send(request, BodyHandlers.ofString()).body());
      if (answer.path("status").asText().equals("success")) return answer.get("data");
      JsonNode error = answer.path("error");
      throw new IllegalStateException(error.path("code").asText() + ": " + error.path("message").asText());
    } catch (JsonProcessingException error) {
      throw new IllegalStateException("no JSON, or none that can be sent: " + error.getMessage(), error);
    } catch (IOException error) {
      throw new IllegalStateException("no answer from " + url + ": " + error.getMessage(), error);
    } catch (InterruptedException error) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("interrupted", error);
    }
  }
}
